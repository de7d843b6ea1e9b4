import type { RedisCommands } from "../../redis/client.ts";
import type { Bucket } from "./bucket.ts";

/**
 * Revoked keys, in every bucket, since the hold of a call looks at its own bucket only. What could not be written
 * because Redis was away is written as soon as it is back, whether or not the operator tries again.
 */
export class Revocations {
  private readonly client: RedisCommands;
  private readonly buckets: readonly Bucket[];
  /** Revoked through this process; a wiped Redis is told of them again. */
  private readonly keyIds = new Set<string>();
  private readonly untold = new Set<Bucket>();

  constructor(client: RedisCommands, buckets: readonly Bucket[]) {
    this.client = client;
    this.buckets = buckets;
  }

  /** Resolves once every process refuses the key; rejects where some bucket has yet to be told. */
  async revoke(keyId: string): Promise<void> {
    this.keyIds.add(keyId);
    await Promise.all(this.buckets.map((bucket) => this.tell(bucket, [keyId])));
  }

  /** Takes a revocation back; rejects where some bucket may still hold it. */
  async restore(keyId: string): Promise<void> {
    this.keyIds.delete(keyId);
    const { client } = this;
    await Promise.all(this.buckets.map(({ keys }) => client.call("SREM", keys.revoked, keyId)));
  }

  /** Tells a bucket that may have forgotten everything. */
  async tellAll(bucket: Bucket): Promise<void> {
    if (this.keyIds.size > 0) await this.tell(bucket, [...this.keyIds]);
  }

  /** Tells a bucket what it has missed. */
  async tellRest(bucket: Bucket): Promise<void> {
    if (this.untold.has(bucket)) await this.tellAll(bucket);
  }

  private async tell(bucket: Bucket, keyIds: readonly string[]): Promise<void> {
    try {
      await this.client.call("SADD", bucket.keys.revoked, ...keyIds);
      if (keyIds.length === this.keyIds.size) this.untold.delete(bucket);
    } catch (error) {
      this.untold.add(bucket);
      throw error;
    }
  }
}
