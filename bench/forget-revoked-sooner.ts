/**
 * Preloaded into a gateway: it remembers a revoked key for ten minutes instead of two hours, so that a run of an hour sees
 * how many it has when as many are forgotten as are revoked.
 */
import { LIFETIMES } from "../core/money/lifetimes.ts";

Object.assign(LIFETIMES, { revokedKeptMs: 600_000 });
