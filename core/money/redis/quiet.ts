import { LIFETIMES } from "../lifetimes.ts";

type Lease = { readonly leaseMs: number };

/** Returns `quietMs` of a lease, which tests shorten. */
export function quietMsOf({ leaseMs }: Lease): number {
  return Math.min(LIFETIMES.quietMs, (leaseMs * LIFETIMES.quietMs) / LIFETIMES.leaseMs);
}

/** Returns `settledRoundMs` of a lease. */
export function settledRoundMsOf({ leaseMs }: Lease): number {
  return Math.min(
    LIFETIMES.settledRoundMs,
    (leaseMs * LIFETIMES.settledRoundMs) / LIFETIMES.leaseMs,
  );
}
