import type { HoldStoreHealth } from "../hold-store.ts";
import type { LedgerWatch } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";

/** The reasons for which no money moves in a bucket, the farthest from ready first. */
const CAUSES = [
  {
    cause: "redis_unreachable",
    reason: "Redis is unreachable",
    is: ({ state }: Bucket) => state === "away",
  },
  {
    cause: "redis_full",
    reason:
      "Redis is full (maxmemory): it has room again once posted calls are committed; if it stays full, raise maxmemory",
    is: ({ isFull }: Bucket) => isFull,
  },
  {
    cause: "ledger_unreachable",
    reason: "Redis lost its data, and this gateway cannot reach the ledger",
    is: ({ refusal }: Bucket) => refusal !== undefined,
  },
  {
    cause: "joining",
    reason: "waiting for other gateways to join",
    is: ({ state }: Bucket) => state === "joining",
  },
  {
    cause: "uncommitted_posts",
    reason: "waiting until the posts of dead gateways are committed",
    is: ({ isReady }: Bucket) => !isReady,
  },
] as const;

export function healthOf(buckets: readonly Bucket[]): HoldStoreHealth {
  const out = buckets.filter(({ isReady, isFull, refusal }) => !isReady || isFull || refusal);
  const found = CAUSES.find(({ is }) => out.some(is));
  if (found === undefined) return { kind: "ok" };
  const kind = out.length === buckets.length ? "away" : "impaired";
  const { cause, reason } = found;
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
