import { LRUCache } from "lru-cache";
import { bucketIndexOf } from "../../redis/buckets.ts";
import type { Bucket } from "./bucket.ts";

const ACCOUNTS_REMEMBERED = 10_000;

/** All buckets; maps an account to its bucket. */
export class BucketMap {
  readonly all: readonly Bucket[];
  private readonly byAccount = new LRUCache<string, Bucket>({ max: ACCOUNTS_REMEMBERED });

  constructor(buckets: readonly Bucket[]) {
    if (buckets.length === 0) throw new Error("no buckets; a store needs at least one");
    this.all = buckets;
  }

  /** Cached: the hash of an id takes a microsecond, and each call asks three times. */
  of(accountId: string): Bucket {
    const known = this.byAccount.get(accountId);
    if (known !== undefined) return known;
    const bucket = this.all[bucketIndexOf(accountId, this.all.length)];
    if (bucket === undefined) throw new Error(`no bucket for ${accountId}`);
    this.byAccount.set(accountId, bucket);
    return bucket;
  }
}
