import { bucketIndexOf } from "../../redis/buckets.ts";
import type { Bucket } from "./bucket.ts";

/** All buckets; maps an account to its bucket. */
export class BucketMap {
  constructor(readonly all: readonly Bucket[]) {
    if (all.length === 0) throw new Error("no buckets; a store needs at least one");
  }

  of(accountId: string): Bucket {
    const { all } = this;
    const bucket = all[all.length === 1 ? 0 : bucketIndexOf(accountId, all.length)];
    if (bucket === undefined) throw new Error(`no bucket for ${accountId}`);
    return bucket;
  }
}
