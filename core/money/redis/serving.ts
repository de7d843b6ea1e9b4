import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import type { Bucket } from "./bucket.ts";
import { healthOf } from "./health.ts";

/**
 * Resolves once wallets can be loaded in every bucket. After `timeoutMs` it is enough if they can in some, or if some
 * nodes of a cluster do not reply: the others may need what these have. Rejects if no node replies within that time.
 */
export async function whenServing(
  buckets: readonly Bucket[],
  timeoutMs: number,
  machine: Machine,
  log: Log,
): Promise<void> {
  const ready = Promise.all(buckets.map((bucket) => bucket.whenLoadable()));
  while ((await withTimeout(ready, timeoutMs, machine)) === TIMED_OUT) {
    const isAway = buckets.map(({ state }) => state === "away");
    if (isAway.every(Boolean)) {
      throw new Error(
        `stores.hot: Redis did not reply within ${timeoutMs / 1_000} s; check its address and state`,
      );
    }
    const health = healthOf(buckets);
    if (health.kind === "ok") return;
    // If all nodes reply, the start waits for leases of other processes: a new start would wait longer.
    if (health.kind === "away" && !isAway.some(Boolean)) continue;
    log.warn(
      { reason: health.reason },
      "starting although some accounts cannot be served yet; their calls get 503 until they can",
    );
    return;
  }
}
