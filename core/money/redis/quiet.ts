import { LIFETIMES } from "../lifetimes.ts";

type Lease = { readonly leaseMs: number };

/** Returns `quietMs`, shortened with a lease that a test has shortened. */
export function quietMsOf(lease: Lease): number {
  return shortened(LIFETIMES.quietMs, lease);
}

/** Returns `settledRoundMs`, shortened with a lease that a test has shortened. */
export function settledRoundMsOf(lease: Lease): number {
  return shortened(LIFETIMES.settledRoundMs, lease);
}

/** Shortens a time by as much as the lease is shorter than usual. */
function shortened(ms: number, { leaseMs }: Lease): number {
  return Math.min(ms, (leaseMs * ms) / LIFETIMES.leaseMs);
}
