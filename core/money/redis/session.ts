import { isUnknownScript, type RedisCommands } from "../../redis/client.ts";
import { listOf, numberOf } from "../../redis/reply.ts";
import type { Script } from "../../redis/script.ts";
import type { BucketKeys, EpochKeys } from "./keys.ts";
import { type MoneyOperation, moneyScript } from "./scripts.ts";

/** The operation was not done: this process is no member of the bucket's epoch (any more). */
export class NotMember extends Error {
  constructor(bucket: string) {
    super(`bucket ${bucket} is being joined`);
    this.name = "NotMember";
  }
}

/** Redis counts fewer operations of this process than it had acknowledged: it has lost data, so its reply is ignored. */
class Forgotten extends Error {
  constructor(bucket: string) {
    super(`redis has forgotten operations in bucket ${bucket}`);
    this.name = "Forgotten";
  }
}

/** Returns true if an operation was not done because its bucket must be joined first. */
export function isJoining(error: unknown): boolean {
  return error instanceof NotMember || isUnknownScript(error);
}

/** What an operation on money returns, without the count in front. */
export type Reply = readonly unknown[];

/** For operations of which the reply is wanted as it is. */
export function asReply(reply: Reply): Reply {
  return reply;
}

interface SessionOptions {
  readonly keys: BucketKeys;
  readonly client: RedisCommands;
  readonly process: string;
  /** Called with the error of every operation that failed. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * This process in one epoch of a bucket. Runs operations on money, and notices by their count that Redis has lost some.
 * Only `Membership` enters an epoch and ends a session; all others run operations.
 */
export class Session {
  private readonly options: SessionOptions;
  private readonly script: Script;
  private keys: EpochKeys;
  private incarnation = 0;
  private currentProcess: string;
  private currentEpoch = "";
  private seen = 0;
  private fenced = false;

  constructor(options: SessionOptions) {
    const { keys, process } = options;
    this.options = options;
    this.script = moneyScript(keys.base);
    this.currentProcess = process;
    this.keys = keys.under("", process);
  }

  /** This process, as the bucket knows it; another one once its leases have ended while it slept. */
  get process(): string {
    return this.currentProcess;
  }

  /** "" before the first. */
  get epoch(): string {
    return this.currentEpoch;
  }

  /** The highest count of its own operations that Redis has acknowledged. */
  get operationsSeen(): number {
    return this.seen;
  }

  /** The server has forgotten the script, and nothing passes until `liftFence`: see `moneyScript`. */
  get isFenced(): boolean {
    return this.fenced;
  }

  get epochKeys(): EpochKeys {
    return this.keys;
  }

  /** Goes on in an epoch that this process has just joined. */
  enter(epoch: string): void {
    this.currentEpoch = epoch;
    this.seen = 1;
    this.keys = this.options.keys.under(epoch, this.currentProcess);
  }

  /** The leases of this process have ended: it goes on as another one, which has joined no epoch yet. */
  begin(): void {
    this.incarnation += 1;
    this.currentProcess = `${this.options.process}~${this.incarnation}`;
    this.currentEpoch = "";
  }

  /**
   * One operation on money. Rejects where it was not done, or where nobody knows whether it was: every
   * operation may come twice. `read` makes the answer of the reply: one promise less than a `then` behind.
   */
  run<T>(
    operation: MoneyOperation,
    keys: readonly string[],
    args: readonly string[],
    read: (reply: Reply) => T,
  ): Promise<T> {
    const { members, wallets, holds } = this.keys;
    const { currentEpoch: epoch } = this;
    return this.options.client
      .evalsha(
        this.script.sha,
        [members, wallets, holds, ...keys],
        [operation, this.currentProcess, ...args],
      )
      .then(
        (reply) => read(this.check(reply, epoch)),
        (error: unknown) => this.failed(error),
      );
  }

  /** Lets operations on money pass again, for every process: see `moneyScript`. */
  async liftFence(): Promise<void> {
    const { members, wallets, holds } = this.keys;
    const { currentEpoch: epoch, currentProcess } = this;
    const keys = [members, wallets, holds];
    const args = ["noop", currentProcess];
    this.check(await this.options.client.load(this.script, keys, args), epoch);
    this.fenced = false;
  }

  private check(reply: unknown, epoch: string): Reply {
    const { bucket } = this.options.keys;
    const [count, ...rest] = listOf(reply);
    const n = numberOf(count);
    if (n === 0) return this.failed(new NotMember(bucket));
    if (epoch !== this.currentEpoch) throw new NotMember(bucket);
    if (n <= this.seen) return this.failed(new Forgotten(bucket));
    this.seen = n;
    return rest;
  }

  private failed(error: unknown): never {
    if (isUnknownScript(error)) this.fenced = true;
    this.options.onTrouble(error);
    throw error;
  }
}
