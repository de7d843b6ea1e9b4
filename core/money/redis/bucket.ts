import type { Machine } from "../../process/machine.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { RedisAway } from "../../redis/client.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { BucketKeys, EpochKeys } from "./keys.ts";
import type { BucketState, Readiness } from "./readiness.ts";
import type { MoneyOperation } from "./scripts.ts";
import { isJoining, NotMember, type Reply, type Session } from "./session.ts";

const ATTEMPTS = 3;

/**
 * One of the slots that accounts are spread over, as holds, posts and wallets see it: they run operations in it and
 * wait for it. It lives, fails and recovers by itself; `Membership` alone writes what it shows.
 */
export class Bucket {
  readonly keys: BucketKeys;
  private readonly session: Session;
  private readonly readiness: Readiness;
  private readonly machine: Machine;

  constructor(keys: BucketKeys, session: Session, readiness: Readiness, machine: Machine) {
    this.keys = keys;
    this.session = session;
    this.readiness = readiness;
    this.machine = machine;
  }

  /** `b07`. */
  get name(): string {
    return this.keys.bucket;
  }

  get state(): BucketState {
    return this.readiness.state;
  }

  /** Money moves here, and wallets may be loaded. */
  get isReady(): boolean {
    return this.readiness.isReady;
  }

  /** "" before this process has joined one. */
  get epoch(): string {
    return this.session.epoch;
  }

  /** The keys of this epoch. */
  get epochKeys(): EpochKeys {
    return this.session.epochKeys;
  }

  /** This process, as the bucket knows it. */
  get process(): string {
    return this.session.process;
  }

  /** As the session's. */
  run<T>(
    operation: MoneyOperation,
    keys: readonly string[],
    args: readonly string[],
    read: (reply: Reply) => T,
  ): Promise<T> {
    return this.session.run(operation, keys, args, read);
  }

  /** Resolves once wallets can be loaded here; at once if they can. */
  whenLoadable(): Promise<void> {
    return this.readiness.whenReady();
  }

  /** Waits for a bucket that is being joined; rejects if Redis is away, or it takes too long. */
  async whenReady(): Promise<void> {
    if (this.isReady) return;
    if (this.state === "away") throw new RedisAway("away");
    const joined = await withTimeout(this.whenLoadable(), LIFETIMES.joinWaitMs, this.machine);
    if (joined === TIMED_OUT) throw new NotMember(this.name);
  }

  /** Does something that only a member of the bucket can, again if it had to be joined first. */
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
