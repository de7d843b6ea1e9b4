import type { RedisCommands } from "../../redis/client.ts";
import type { Bucket } from "./bucket.ts";

/**
 * Writes revoked keys to every bucket, because a hold checks only its account's bucket. A write that fails is retried
 * once Redis is back, even if the operator does not try again.
 */
export class Revocations {
  private readonly client: RedisCommands;
  private readonly buckets: readonly Bucket[];
  /** Keys revoked through this process. They are written again after a wipe of Redis. */
  private readonly keyIds = new Set<string>();
  /** Buckets in which some of `keyIds` may be missing. */
  private readonly behind = new Set<Bucket>();

  constructor(client: RedisCommands, buckets: readonly Bucket[]) {
    this.client = client;
    this.buckets = buckets;
  }

  /** Resolves once every process refuses the key. Rejects if a bucket could not be written; it is retried later. */
  async revoke(keyId: string): Promise<void> {
    this.keyIds.add(keyId);
    await Promise.all(this.buckets.map((bucket) => this.apply(bucket, [keyId])));
  }

  /** Undoes a revocation. Rejects if a bucket could not be written and may still refuse the key. */
  async restore(keyId: string): Promise<void> {
    this.keyIds.delete(keyId);
    const { client } = this;
    await Promise.all(this.buckets.map(({ keys }) => client.call("SREM", keys.revoked, keyId)));
  }

  /** Writes all revocations of this process to a bucket that may have lost them. */
  async applyAll(bucket: Bucket): Promise<void> {
    if (this.keyIds.size > 0) await this.apply(bucket, [...this.keyIds]);
  }

  /** Repeats the writes that failed. */
  async applyMissed(bucket: Bucket): Promise<void> {
    if (this.behind.has(bucket)) await this.applyAll(bucket);
  }

  private async apply(bucket: Bucket, keyIds: readonly string[]): Promise<void> {
    try {
      await this.client.call("SADD", bucket.keys.revoked, ...keyIds);
      if (keyIds.length === this.keyIds.size) this.behind.delete(bucket);
    } catch (error) {
      this.behind.add(bucket);
      throw error;
    }
  }
}
