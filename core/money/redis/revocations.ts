import type { Machine } from "../../process/machine.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { RevokedKeys } from "../revoked-keys.ts";
import type { Bucket } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";

/**
 * Writes a revoked key to the bucket of its account, in which every hold with this key looks for it. Redis forgets it
 * once no process can have the key in its cache. A write that fails is retried once Redis is back, even if the operator
 * does not try again.
 */
export class Revocations {
  /** Keys revoked through this process. They are written again after a wipe of Redis. */
  private readonly own = new Map<Bucket, RevokedKeys>();
  /** Buckets in which some of `own` may be missing. */
  private readonly behind = new Set<Bucket>();

  constructor(
    private readonly client: RedisCommands,
    private readonly buckets: BucketMap,
    machine: Machine,
  ) {
    for (const bucket of buckets.all) this.own.set(bucket, new RevokedKeys(machine));
  }

  /** Resolves once every process refuses the key. Rejects if it could not be written; it is retried later. */
  async revoke(keyId: string, accountId: string): Promise<void> {
    const bucket = this.buckets.of(accountId);
    this.own.get(bucket)?.add(keyId);
    try {
      await this.write(bucket, keyId, LIFETIMES.revokedKeptMs);
    } catch (error) {
      this.behind.add(bucket);
      throw error;
    }
  }

  /** Undoes a revocation. Rejects if the bucket could not be written and may still refuse the key. */
  async restore(keyId: string, accountId: string): Promise<void> {
    const bucket = this.buckets.of(accountId);
    this.own.get(bucket)?.delete(keyId);
    await this.client.call("DEL", bucket.keys.revoked(keyId));
  }

  /** Writes every revocation made through this process to a bucket that may have lost them. */
  async applyAll(bucket: Bucket): Promise<void> {
    // Deleted before the writes: a revocation that fails during them adds the bucket again.
    this.behind.delete(bucket);
    const keys = this.own.get(bucket)?.left() ?? [];
    try {
      await Promise.all(keys.map(({ keyId, leftMs }) => this.write(bucket, keyId, leftMs)));
    } catch (error) {
      this.behind.add(bucket);
      throw error;
    }
  }

  /** Repeats the writes that failed. */
  async applyMissed(bucket: Bucket): Promise<void> {
    if (this.behind.has(bucket)) await this.applyAll(bucket);
  }

  private async write(bucket: Bucket, keyId: string, ms: number): Promise<void> {
    await this.client.call("SET", bucket.keys.revoked(keyId), "1", "PX", String(Math.ceil(ms)));
  }
}
