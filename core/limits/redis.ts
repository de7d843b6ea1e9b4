import { bucketIndexOf, bucketName, bucketsOf } from "../redis/buckets.ts";
import type { RedisClient } from "../redis/client.ts";
import { listOf, numberOf } from "../redis/reply.ts";
import { readLua, script } from "../redis/script.ts";
import type { Rate, RateLimiter } from "./rate-limiter.ts";

const takeScript = script(readLua("core/limits/take.lua"));
const enterScript = script(readLua("core/limits/enter.lua"));

const MINUTE_MS = 60_000;
/** A running call is counted for this long after its process last renewed it. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/**
 * Rate limits in Redis, shared by all gateways, by the clock of Redis. Running calls are leases, which expire if their
 * process dies. While Redis is unreachable, every call is allowed here, because none can take a hold.
 */
export class RedisRateLimiter implements RateLimiter {
  /** A call counts for its key, and for the member who uses it. */
  private readonly running = new Map<string, readonly [keyId: string, callId: string]>();
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: RedisClient,
    private readonly prefix: string,
  ) {}

  async takeCall(keyId: string, perMinute: number, burst: number): Promise<Rate> {
    const args = [String(MINUTE_MS / perMinute), String(burst)];
    try {
      const reply = await this.client.run(takeScript, [this.key("rate", keyId)], args);
      const [allowed, remaining, resetMs, retryMs] = listOf(reply);
      return {
        allowed: allowed === 1,
        remaining: numberOf(remaining),
        resetMs: numberOf(resetMs),
        retryMs: numberOf(retryMs),
      };
    } catch {
      return { allowed: true, remaining: burst, resetMs: 0, retryMs: 0 };
    }
  }

  async enterCall(keyId: string, callId: string, max: number): Promise<boolean> {
    try {
      const entered = await this.renew(keyId, callId, max);
      if (entered) this.running.set(`${keyId} ${callId}`, [keyId, callId]);
      this.renewal ??= setInterval(() => this.renewAll(), RENEW_MS).unref();
      return entered;
    } catch {
      return true;
    }
  }

  async leaveCall(keyId: string, callId: string): Promise<void> {
    this.running.delete(`${keyId} ${callId}`);
    // If this fails, the lease expires.
    await this.client.call("ZREM", this.key("running", keyId), callId).catch(() => {});
  }

  private async renew(keyId: string, callId: string, max: number): Promise<boolean> {
    const keys = [this.key("running", keyId)];
    const args = [callId, String(max), String(LEASE_MS)];
    return (await this.client.run(enterScript, keys, args)) === 1;
  }

  private renewAll(): void {
    for (const [keyId, callId] of this.running.values()) {
      this.renew(keyId, callId, Number.MAX_SAFE_INTEGER).catch(() => {});
    }
  }

  private key(what: string, keyId: string): string {
    return `${this.prefix}:{${bucketName(bucketIndexOf(keyId, bucketsOf(this.client)))}}:${what}:${keyId}`;
  }
}
