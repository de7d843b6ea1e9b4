import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import type { HoldStoreHealth } from "../hold-store.ts";
import type { LedgerWatch } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";

const FULL = {
  cause: "redis_full",
  reason:
    "Redis is full (maxmemory): it has room again once posted calls are committed; if it stays full, raise maxmemory",
};
const JOINING = {
  cause: "joining",
  reason: "this gateway has not entered the epoch of Redis: it first commits its earlier posts",
};
const UNCOMMITTED = {
  cause: "uncommitted_posts",
  reason:
    "waiting until other gateways have entered this epoch of Redis, and earlier posts are committed",
};

/** Returns why some buckets take no hold: the reason of the one that is the farthest from ready. */
function reasonOf(out: readonly Bucket[]) {
  const away = out.find(({ state }) => state === "away");
  if (away) return { cause: "redis_unreachable", reason: `Redis is unreachable: ${away.fault}` };
  if (out.some(({ isFull }) => isFull)) return FULL;
  const refusal = out.find((bucket) => bucket.refusal)?.refusal;
  return refusal ?? (out.some(({ state }) => state === "joining") ? JOINING : UNCOMMITTED);
}

function healthOf(buckets: readonly Bucket[]): HoldStoreHealth {
  const out = buckets.filter(({ isReady, isFull, refusal }) => !isReady || isFull || refusal);
  if (out.length === 0) return { kind: "ok" };
  const kind = out.length === buckets.length ? "away" : "impaired";
  const { cause, reason } = reasonOf(out);
  return { kind, cause, reason: `${reason} (${out.length} of ${buckets.length} buckets)` };
}

/** Returns the health of a store. `noRoom`: the reason if it cannot keep another post. */
export function healthOfStore(
  buckets: readonly Bucket[],
  { wentBack, refusal, cause }: Pick<LedgerWatch, "wentBack" | "refusal" | "cause">,
  noRoom: string | undefined,
): HoldStoreHealth {
  if (wentBack && refusal) return { kind: "away", reason: refusal, cause };
  if (noRoom) return { kind: "away", reason: noRoom, cause: "no_room_for_posts" };
  const health = healthOf(buckets);
  if (health.kind !== "ok" || refusal === undefined) return health;
  return { kind: "away", reason: refusal, cause };
}

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
        `stores.hot: Redis did not reply within ${timeoutMs / 1_000} s: ${buckets[0]?.fault}`,
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
