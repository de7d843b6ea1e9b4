import type { OutboxEntry } from "../../contract/hold-store.ts";
import { bucketName } from "../../redis/buckets.ts";
import { isUnknownScript, type RedisClient } from "../../redis/client.ts";
import { listOf, numberOf } from "../../redis/reply.ts";
import type { Script } from "../../redis/script.ts";
import { type MoneyOperation, moneyScript } from "./scripts.ts";

/** The operation was not done: this process is no member of the bucket's epoch (any more). */
export class NotMember extends Error {
  constructor(bucket: string) {
    super(`bucket ${bucket} is being joined`);
    this.name = "NotMember";
  }
}

/** Redis counts fewer operations of this process than it had answered: whatever it answers now is not to be had. */
class Forgotten extends Error {
  constructor(bucket: string) {
    super(`redis has forgotten operations in bucket ${bucket}`);
    this.name = "Forgotten";
  }
}

/** What an operation on money answers, without the count in front. */
export type Reply = readonly unknown[];

/** For operations of which the reply is wanted as it is. */
export function asReply(reply: Reply): Reply {
  return reply;
}

/**
 * `away`: Redis does not answer. `joining`: it does, and this process makes sure that everything is in order.
 * `ready`: money moves.
 */
type BucketState = "away" | "joining" | "ready";

interface Keys {
  readonly members: string;
  readonly wallets: string;
  readonly holds: string;
  readonly open: string;
  readonly outbox: string;
}

/**
 * One of the slots that accounts are spread over, as this process sees it: its keys all have the same hash tag,
 * so that a script touches one node of a cluster, and it lives, fails and recovers by itself.
 */
export class Bucket {
  /** `b07`. */
  readonly name: string;
  /** What every key begins with: `tollgate:{b07}:`. */
  readonly base: string;
  readonly epochKey: string;
  readonly revokedKey: string;
  private readonly client: RedisClient;
  private readonly script: Script;
  private readonly onTrouble: (bucket: Bucket, error: unknown) => void;
  private keys: Keys;
  private waiters: (() => void)[] = [];

  /** This process, as the bucket knows it; another one once its leases have ended while it slept. */
  process: string;
  /** "" before the first. */
  epoch = "";
  /** The highest count of its own operations that this process was told. */
  told = 0;
  state: BucketState = "away";
  /** False after the server has forgotten the script: see `moneyScript`. */
  gateOpen = true;
  /** Wallets may be opened. */
  open = false;
  /** Posted here by this process, and not yet known to be in the ledger; by entry id, oldest first. */
  readonly unsettled = new Map<string, OutboxEntry>();
  /** In the ledger, and not yet acknowledged because Redis was away. */
  owed: OutboxEntry[] = [];
  /** When this process last knew that its leases stood, by the monotonic clock. */
  freshAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    index: number;
    prefix: string;
    process: string;
    client: RedisClient;
    onTrouble: (bucket: Bucket, error: unknown) => void;
  }) {
    this.name = bucketName(options.index);
    this.base = `${options.prefix}:{${this.name}}:`;
    this.epochKey = `${this.base}epoch`;
    this.revokedKey = `${this.base}revoked`;
    this.client = options.client;
    this.script = moneyScript(this.base);
    this.onTrouble = options.onTrouble;
    this.process = options.process;
    this.keys = this.keysOf("", options.process);
  }

  get openKey(): string {
    return this.keys.open;
  }

  get outboxKey(): string {
    return this.keys.outbox;
  }

  get walletsKey(): string {
    return this.keys.wallets;
  }

  /** What became of a call, for as long as it may be posted again. */
  callKey(callId: string): string {
    return `${this.base}d:${callId}`;
  }

  outboxOf(epoch: string, process: string): string {
    return `${this.base}${epoch}:o:${process}`;
  }

  /** Goes on in an epoch that this process has just joined. */
  enter(epoch: string): void {
    this.epoch = epoch;
    this.told = 1;
    this.open = false;
    this.keys = this.keysOf(epoch, this.process);
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
    const { epoch } = this;
    return this.client
      .evalsha(
        this.script.sha,
        [members, wallets, holds, ...keys],
        [operation, this.process, ...args],
      )
      .then(
        (reply) => read(this.check(reply, epoch)),
        (error: unknown) => this.failed(error),
      );
  }

  /** Lets operations on money pass again, for every process: see `moneyScript`. */
  async openGate(): Promise<void> {
    const { members, wallets, holds } = this.keys;
    const { epoch } = this;
    const keys = [members, wallets, holds];
    this.check(await this.client.load(this.script, keys, ["noop", this.process]), epoch);
    this.gateOpen = true;
  }

  setState(state: BucketState, open: boolean): void {
    this.state = state;
    this.open = open;
    if (state !== "ready" || !open) return;
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves once wallets can be opened here; at once where they can. */
  whenOpen(): Promise<void> {
    if (this.state === "ready" && this.open) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  private check(reply: unknown, epoch: string): Reply {
    const [count, ...rest] = listOf(reply);
    const n = numberOf(count);
    if (n === 0) return this.failed(new NotMember(this.name));
    if (epoch !== this.epoch) throw new NotMember(this.name);
    if (n <= this.told) return this.failed(new Forgotten(this.name));
    this.told = n;
    return rest;
  }

  private failed(error: unknown): never {
    if (isUnknownScript(error)) this.gateOpen = false;
    this.onTrouble(this, error);
    throw error;
  }

  private keysOf(epoch: string, process: string): Keys {
    const under = `${this.base}${epoch}:`;
    return {
      members: `${under}procs`,
      wallets: `${under}w`,
      holds: `${under}holds`,
      open: `${under}open`,
      outbox: this.outboxOf(epoch, process),
    };
  }
}
