import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { atEndOfTurn } from "../../process/turn.ts";
import {
  isOutOfMemory,
  isUnknownScript,
  RedisAway,
  type RedisCommands,
} from "../../redis/client.ts";
import { listOf, numberOf } from "../../redis/reply.ts";
import type { Script } from "../../redis/script.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { Outbox } from "../outbox.ts";
import type { BucketKeys, EpochKeys } from "./keys.ts";
import { Operations, type Reply } from "./operations.ts";
import { type MoneyOperation, moneyScript } from "./scripts.ts";

const ATTEMPTS = 3;
/** Operations in one script. While it runs, some 12 µs for each, Redis does nothing else. */
const GATHERED_MAX = 64;

/** The operation was not done, because this gateway is not a member of the bucket's epoch. */
export class NotMember extends Error {
  constructor(bucket: string) {
    super(`bucket ${bucket} is being joined; try again`);
    this.name = "NotMember";
  }
}

/** Redis counts fewer operations of this gateway than it had acknowledged: it has lost data, so its reply is ignored. */
export class LostOperations extends Error {
  constructor(bucket: string) {
    super(`Redis lost operations in bucket ${bucket}; its wallets are rebuilt from the ledger`);
    this.name = "LostOperations";
  }
}

/** Returns true if an operation was not done because its bucket must be joined first. */
export function isJoining(error: unknown): boolean {
  return error instanceof NotMember || isUnknownScript(error);
}

/**
 * `away`: Redis does not reply. `joining`: it replies, and this gateway has not entered the epoch. `ready`: money moves, and
 * wallets can be loaded once the epoch is open.
 */
type BucketState = "away" | "joining" | "ready";

interface BucketOptions {
  readonly client: RedisCommands;
  /** Id of this gateway, a UUID. */
  readonly process: string;
  readonly machine: Machine;
  /** Called with the error of every operation that failed, and the epoch in which it ran. */
  readonly onTrouble: (error: unknown, epoch: string) => void;
}

/**
 * The wallets of some accounts, in one slot of Redis: all of them, or one part in 16 with a cluster. Runs this gateway's
 * operations on money in the bucket's epoch, or waits until they can run. Only `Membership` changes its state.
 */
export class Bucket {
  /** The posts of this gateway, whichever epoch they were sent in. */
  readonly outbox = new Outbox();
  /** Why this gateway may take no hold, though its posts are taken; undefined if it may. */
  refusal: { readonly cause: string; readonly reason: string } | undefined;
  /** True if Redis refused a write for want of memory, until a heartbeat finds room. */
  isFull = false;
  /** Why Redis last failed, for people. */
  fault = "not connected yet";
  private script: Script;
  private currentEpoch = "";
  private currentProcess: string;
  private currentKeys: EpochKeys;
  private incarnation = 0;
  private seen = 0;
  private currentState: BucketState = "away";
  private isOpen = false;
  private readonly waiters = new Set<() => void>();
  private gathered: Operations | undefined;
  private readonly sendGathered = (): void => this.flush();

  constructor(
    readonly keys: BucketKeys,
    private readonly options: BucketOptions,
  ) {
    this.currentProcess = options.process;
    this.currentKeys = keys.under("", options.process);
    this.script = moneyScript(keys.base, "");
  }

  /** `b07`. */
  get name(): string {
    return this.keys.bucket;
  }

  /** The epoch that this gateway last entered; "" before the first, and after its leases were ended. */
  get epoch(): string {
    return this.currentEpoch;
  }

  /** The Redis keys of this epoch. */
  get epochKeys(): EpochKeys {
    return this.currentKeys;
  }

  /** Id of this gateway in the bucket. It changes when its leases were ended. */
  get process(): string {
    return this.currentProcess;
  }

  /** The highest count of the operations of this gateway that Redis has acknowledged in this epoch. */
  get operationsSeen(): number {
    return this.seen;
  }

  /** See `OutboxEntry.membership`. */
  get membership(): string {
    return `${this.name}|${this.epoch}|${this.process}`;
  }

  get state(): BucketState {
    return this.currentState;
  }

  /** True if money may be moved and wallets may be loaded. */
  get isReady(): boolean {
    return this.currentState === "ready" && this.isOpen;
  }

  /** True if a place, `<epoch>|<gateway>|<entry>`, is in this gateway's own outbox of this epoch. */
  isOwn(place: string): boolean {
    return place.startsWith(`${this.epoch}|${this.process}|`);
  }

  /** This gateway has entered an epoch that began on this server. */
  enter(epoch: string, server: string): void {
    this.flush();
    this.currentEpoch = epoch;
    this.seen = 1;
    this.currentKeys = this.keys.under(epoch, this.process);
    this.script = moneyScript(this.keys.base, server);
  }

  /** Takes another id, after the leases of this gateway were ended. */
  expelled(): void {
    this.flush();
    this.incarnation += 1;
    this.currentProcess = `${this.options.process}~${this.incarnation}`;
    this.currentEpoch = "";
    // No script finds a member there, so it does nothing.
    this.currentKeys = this.keys.under("", this.process);
  }

  set(state: BucketState, isOpen: boolean): void {
    this.currentState = state;
    this.isOpen = isOpen;
    if (!this.isReady) return;
    for (const wake of this.waiters) wake();
    this.waiters.clear();
  }

  /**
   * Loads the script of operations into the server on which the epoch began; changes nothing else, and rejects on any other
   * server. Operations themselves are sent by the hash of the script only: see `moneyScript`.
   */
  async load(server: string): Promise<void> {
    const script = moneyScript(this.keys.base, server);
    const noop = this.none();
    noop.add("noop", [], [], () => {});
    await this.options.client.load(script, noop.keys, noop.args);
  }

  /**
   * Runs one operation on money, together with the others of this turn. Rejects if it was not done, or if its outcome is
   * unknown; every operation is idempotent, so it can be repeated.
   */
  run<T>(
    operation: MoneyOperation,
    keys: readonly string[],
    fields: readonly string[],
    read: (reply: Reply) => T,
  ): Promise<T> {
    if (this.gathered === undefined) {
      this.gathered = this.none();
      atEndOfTurn("money", this.sendGathered);
    }
    const reply = this.gathered.add(operation, keys, fields, read);
    if (this.gathered.size === GATHERED_MAX) this.flush();
    return reply;
  }

  /** Runs nothing, on the server on which the epoch began only: rejects on any other. */
  async confirm(): Promise<void> {
    const operations = this.none();
    const reply = operations.add("noop", [], [], () => {});
    this.send(operations);
    await reply;
  }

  /**
   * Resolves once money may be moved and wallets may be loaded. Rejects after `limitMs`: an epoch may stay closed for hours,
   * and a call that has been refused must leave nothing behind.
   */
  async whenLoadable(limitMs?: number): Promise<void> {
    if (this.isReady) return;
    let wake = () => {};
    const ready = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.waiters.add(wake);
    if (limitMs === undefined) return ready;
    const result = await withTimeout(ready, limitMs, this.options.machine);
    if (result !== TIMED_OUT) return;
    this.waiters.delete(wake);
    throw new NotMember(this.name);
  }

  /** Waits for a bucket that is being joined. Rejects if Redis is unreachable, or after `joinWaitMs`. */
  async whenReady(): Promise<void> {
    if (this.isReady) return;
    if (this.state === "away") throw new RedisAway(this.fault);
    await this.whenLoadable(LIFETIMES.joinWaitMs);
  }

  /** Runs `work` as a member of the bucket. If it must be joined first, waits and tries again, 3 times in all. */
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

  private none(): Operations {
    return new Operations(this.epoch, this.script.sha, this.currentKeys, this.process);
  }

  /** Sends what was gathered so far: what follows belongs to another epoch, or another script. */
  private flush(): void {
    const { gathered } = this;
    this.gathered = undefined;
    if (gathered !== undefined) this.send(gathered);
  }

  private send(operations: Operations): void {
    const { epoch, sha, keys, args } = operations;
    const failed = (error: unknown): void => this.failed(error, epoch);
    this.options.client
      .evalsha(sha, keys, args)
      .then((reply) => {
        const [count, ...replies] = listOf(reply);
        const n = numberOf(count);
        if (n === 0) throw new NotMember(this.name);
        if (epoch !== this.epoch) return operations.reject(new NotMember(this.name));
        if (n <= this.seen) throw new LostOperations(this.name);
        this.seen = n;
        operations.settle(replies, failed);
      })
      .catch((error: unknown) => {
        failed(error);
        operations.reject(error);
      });
  }

  private failed(error: unknown, epoch: string): void {
    // At its maxmemory Redis still acknowledges, which is what gives it room again: the bucket stays ready for that.
    if (isOutOfMemory(error)) this.isFull = true;
    else this.options.onTrouble(error, epoch);
  }
}
