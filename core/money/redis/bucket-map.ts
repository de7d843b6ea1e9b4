import { LRUCache } from "lru-cache";
import { bucketIndexOf } from "../../redis/buckets.ts";
import type { Bucket } from "./bucket.ts";

const ACCOUNTS_REMEMBERED = 10_000;

/** All buckets, and which of them an account is in. */
export class BucketMap {
  readonly all: readonly Bucket[];
  private readonly byAccount = new LRUCache<string, Bucket>({ max: ACCOUNTS_REMEMBERED });

  constructor(buckets: readonly Bucket[]) {
    if (buckets.length === 0) throw new Error("a store has at least one bucket");
    this.all = buckets;
  }

  /** Remembered, since to hash an id takes a microsecond, and each call asks three times. */
  of(accountId: string): Bucket {
    const known = this.byAccount.get(accountId);
    if (known !== undefined) return known;
    const bucket = this.all[bucketIndexOf(accountId, this.all.length)];
    if (bucket === undefined) throw new Error(`no bucket for ${accountId}`);
    this.byAccount.set(accountId, bucket);
    return bucket;
  }
}
