import { bucketIndexOf } from "../../redis/buckets.ts";
import type { Bucket } from "./bucket.ts";

const ACCOUNTS_REMEMBERED = 10_000;

/** All buckets, and which of them an account is in. */
export class BucketMap {
  readonly all: readonly Bucket[];
  private readonly byAccount = new Map<string, Bucket>();

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
    if (this.byAccount.size >= ACCOUNTS_REMEMBERED) this.byAccount.clear();
    this.byAccount.set(accountId, bucket);
    return bucket;
  }
}
