import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import type { Bucket } from "./bucket.ts";
import { healthOf } from "./health.ts";

/**
 * Resolves once wallets can be loaded in every bucket, or in some of them after `timeoutMs`. Rejects if Redis does not
 * reply within that time.
 */
export async function whenServing(
  buckets: readonly Bucket[],
  timeoutMs: number,
  machine: Machine,
  log: Log,
): Promise<void> {
  const ready = Promise.all(buckets.map((bucket) => bucket.whenLoadable()));
  while ((await withTimeout(ready, timeoutMs, machine)) === TIMED_OUT) {
    const health = healthOf(buckets);
    if (health.kind === "impaired") {
      const { reason } = health;
      log.warn(
        { reason },
        "starting although some accounts cannot be served yet; their calls get 503 until they can",
      );
      return;
    }
    // If Redis replies, the start waits for leases of other processes: a new start would wait longer.
    if (buckets.every((bucket) => bucket.state !== "away")) continue;
    throw new Error(
      `stores.hot: Redis did not reply within ${timeoutMs / 1_000} s; check its address and state`,
    );
  }
}
