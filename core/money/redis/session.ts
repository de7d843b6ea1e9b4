import { isOutOfMemory, isUnknownScript, type RedisCommands } from "../../redis/client.ts";
import { listOf, numberOf } from "../../redis/reply.ts";
import type { Script } from "../../redis/script.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { BucketKeys, EpochKeys } from "./keys.ts";
import { type MoneyOperation, moneyScript } from "./scripts.ts";
import type { BucketView } from "./view.ts";

/** The operation was not done, because this process is not a member of the bucket's epoch. */
export class NotMember extends Error {
  constructor(bucket: string) {
    super(`bucket ${bucket} is being joined; try again`);
    this.name = "NotMember";
  }
}

/**
 * Redis counts fewer operations of this process than it had acknowledged: it has lost data, so its reply is ignored.
 */
class Forgotten extends Error {
  constructor(bucket: string) {
    super(`Redis lost operations in bucket ${bucket}; its wallets are rebuilt from the ledger`);
    this.name = "Forgotten";
  }
}

/** Returns true if an operation was not done because its bucket must be joined first. */
export function isJoining(error: unknown): boolean {
  return error instanceof NotMember || isUnknownScript(error);
}

/** The reply to an operation on money, without the leading count of operations. */
export type Reply = readonly unknown[];

/** A `read` for `Session.run` that returns the reply unchanged. */
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
 * Runs this process's operations on money in one epoch of a bucket, and checks their count to detect a loss of data.
 * Only `Membership` changes the epoch; all other classes run operations.
 */
export class Session {
  private readonly options: SessionOptions;
  private script: Script;
  /** The server whose script is used: see `BucketView.server`. */
  private server = "";
  /** The server that the last round found. */
  private foundLast = "";
  private keys: EpochKeys;
  private incarnation = 0;
  private currentProcess: string;
  private currentEpoch = "";
  private seen = 0;
  private fenced = false;
  private full = false;

  constructor(options: SessionOptions) {
    const { keys, process } = options;
    this.options = options;
    this.script = this.scriptOf("");
    this.currentProcess = process;
    this.keys = keys.under("", process);
  }

  /** Id of this process in Redis. It changes when its leases were ended. */
  get process(): string {
    return this.currentProcess;
  }

  /** The epoch last joined, ms since 1970 as text; "" before the first. */
  get epoch(): string {
    return this.currentEpoch;
  }

  /** The highest count of its own operations that Redis has acknowledged. */
  get operationsSeen(): number {
    return this.seen;
  }

  /** The server that the last round found, whether its script is used or not; "" before the first. */
  get serverFound(): string {
    return this.foundLast;
  }

  /** True if the server restarted or is another one. No operation passes until `liftFence`: see `moneyScript`. */
  get isFenced(): boolean {
    return this.fenced;
  }

  /** True if Redis refused an operation at its maxmemory, until it takes a write again. */
  get isFull(): boolean {
    return this.full;
  }

  /** Writes a key that needs memory, to see if Redis takes it. Never rejects. */
  async tryRoom(): Promise<void> {
    const { client, keys } = this.options;
    try {
      await client.call("SET", keys.room, "", "PX", String(LIFETIMES.roomKeptMs));
      this.full = false;
    } catch {
      // Still full, or unreachable: the next heartbeat asks again.
    }
  }

  get epochKeys(): EpochKeys {
    return this.keys;
  }

  /** Switches to an epoch that this process has just joined. */
  enter(epoch: string): void {
    this.currentEpoch = epoch;
    this.seen = 1;
    this.keys = this.options.keys.under(epoch, this.currentProcess);
  }

  /** Takes a new process id, after the leases of the old one were ended. The new one has joined no epoch yet. */
  begin(): void {
    this.incarnation += 1;
    this.currentProcess = `${this.options.process}~${this.incarnation}`;
    this.currentEpoch = "";
  }

  /**
   * Runs one operation on money. Rejects if it was not done, or if its outcome is unknown; every operation is
   * idempotent, so it can be repeated. `read` converts the reply here, which saves the promise of another `then`.
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

  /** Stores which server a round found. Raises the fence if it is another one, or if members have yet to verify it. */
  found({ server, members }: BucketView): void {
    this.foundLast = server;
    if (server === this.server) return;
    if (this.server === "" && members.every(({ verified }) => verified)) {
      this.server = server;
      this.script = this.scriptOf(server);
    } else this.fenced = true;
  }

  /** Loads the script into the server, so that operations of every process pass again: see `moneyScript`. */
  async liftFence(): Promise<void> {
    const { members, wallets, holds } = this.keys;
    const { currentEpoch: epoch, currentProcess } = this;
    const keys = [members, wallets, holds];
    const args = ["noop", currentProcess];
    const server = this.foundLast;
    const script = this.scriptOf(server);
    this.check(await this.options.client.load(script, keys, args), epoch);
    this.server = server;
    this.script = script;
    this.fenced = false;
  }

  private scriptOf(server: string): Script {
    return moneyScript(this.options.keys.base, server);
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
    // At its maxmemory Redis still acknowledges, which is what gives it room again: the bucket stays ready for that.
    if (isOutOfMemory(error)) this.full = true;
    else this.options.onTrouble(error);
    throw error;
  }
}
