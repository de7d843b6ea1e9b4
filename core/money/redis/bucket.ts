import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { RedisAway } from "../../redis/client.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { RedisKeptProgress } from "./kept-progress.ts";
import type { BucketKeys, EpochKeys } from "./keys.ts";
import type { BucketState, Readiness } from "./readiness.ts";
import type { LedgerOperation, MoneyOperation } from "./scripts.ts";
import { asReply, isJoining, NotMember, type Reply, type Session } from "./session.ts";

const ATTEMPTS = 3;

interface BucketOptions {
  readonly machine: Machine;
  readonly counts: Pick<RedisKeptProgress, "edition" | "firstEdition">;
}

/**
 * One of the 64 buckets of accounts, as holds, posts and wallets see it: they run operations in it, or wait until it is
 * ready. Each bucket fails and recovers by itself. Only `Membership` changes its state.
 */
export class Bucket {
  readonly keys: BucketKeys;
  private readonly session: Session;
  private readonly readiness: Readiness;
  private readonly options: BucketOptions;

  constructor(keys: BucketKeys, session: Session, readiness: Readiness, options: BucketOptions) {
    this.keys = keys;
    this.session = session;
    this.readiness = readiness;
    this.options = options;
  }

  /** `b07`. */
  get name(): string {
    return this.keys.bucket;
  }

  get state(): BucketState {
    return this.readiness.state;
  }

  /** True if money may be moved and wallets may be loaded. */
  get isReady(): boolean {
    return this.readiness.isReady;
  }

  /** True if Redis refused a write for want of memory, until it takes one again. */
  get isFull(): boolean {
    return this.session.isFull;
  }

  /** Asks if Redis has room again. Never rejects. */
  tryRoom(): Promise<void> {
    return this.session.tryRoom();
  }

  /** The epoch that this process last joined, ms since 1970 as text; "" before the first. */
  get epoch(): string {
    return this.session.epoch;
  }

  /** The Redis keys of this epoch. */
  get epochKeys(): EpochKeys {
    return this.session.epochKeys;
  }

  /** Id of this process in Redis. It changes when its leases were ended. */
  get process(): string {
    return this.session.process;
  }

  /** The highest count of the operations of this process that Redis has acknowledged. */
  get operationsSeen(): number {
    return this.session.operationsSeen;
  }

  /** True if a place, `<epoch>|<process>|<entry>`, is in this process's own outbox of this epoch. */
  isOwn(place: string): boolean {
    return place.startsWith(`${this.epoch}|${this.process}|`);
  }

  /** See `Session.run`. */
  run<T>(
    operation: Exclude<MoneyOperation, LedgerOperation>,
    keys: readonly string[],
    args: readonly string[],
    read: (reply: Reply) => T,
  ): Promise<T> {
    return this.session.run(operation, keys, args, read);
  }

  /** Runs an operation with what was read from the ledger, or committed to it. The wallets rest on its counts then. */
  async runFromLedger(
    operation: LedgerOperation,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply> {
    const { counts } = this.options;
    const edition = counts.edition || (await counts.firstEdition());
    return this.session.run(operation, keys, [...args, edition], asReply);
  }

  /** Resolves once money may be moved and wallets may be loaded. */
  whenLoadable(): Promise<void> {
    return this.readiness.whenReady();
  }

  /** Waits for a bucket that is being joined. Rejects if Redis is unreachable, or after `joinWaitMs`. */
  async whenReady(): Promise<void> {
    if (this.isReady) return;
    if (this.state === "away") throw new RedisAway("away");
    const joined = await withTimeout(
      this.whenLoadable(),
      LIFETIMES.joinWaitMs,
      this.options.machine,
    );
    if (joined === TIMED_OUT) throw new NotMember(this.name);
  }

  /**
   * Runs `work` as a member of the bucket. If the bucket must be joined first, waits and tries again, 3 times in all.
   */
  async asMember<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      await this.whenReady();
      try {
        return await work();
      } catch (error) {
        if (attempt >= ATTEMPTS || !isJoining(error)) throw error;
      }
    }
  }
}
