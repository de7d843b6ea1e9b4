import { backoffMs } from "../../process/backoff.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { Machine } from "../../process/machine.ts";
import { isUnknownScript, type RedisCommands } from "../../redis/client.ts";
import { numberOf, textOf } from "../../redis/reply.ts";
import { LIFETIMES, type Lifetimes } from "../lifetimes.ts";
import { Bucket } from "./bucket.ts";
import type { BucketKeys } from "./keys.ts";
import { Peers, type SilentMember } from "./peers.ts";
import { Readiness } from "./readiness.ts";
import { type MembersOperation, membersScript } from "./scripts.ts";
import { asReply, isJoining, Session } from "./session.ts";
import { type BucketView, readView } from "./view.ts";

/** Those lifetimes that tests shorten. */
export type MembershipTimes = Pick<Lifetimes, "heartbeatMs" | "leaseMs" | "graceMs">;

export interface MembershipEvents {
  /** Redis did not answer, or this process must join first. `wasReady`: it is the first to say so. */
  failed(bucket: Bucket, error: unknown, wasReady: boolean): void;
  /** Redis has lost something of this bucket, and it goes on in a new epoch. */
  moved(bucket: Bucket): void;
  /** Wallets of the new epoch were loaded without the posts that this process still keeps. */
  mustResend(bucket: Bucket): void;
  /** The leases of this process have ended while it slept: its holds are gone. */
  expelled(bucket: Bucket): void;
  /** This process is a member of a new epoch, and its operations pass once it is ready. */
  joined(bucket: Bucket): Promise<void>;
  /** Another process was silent, and what it held was given back. */
  reaped(bucket: Bucket, process: string, voidedHolds: number): void;
  /** Everything is in order: the moment for work that had to wait. */
  maintained(bucket: Bucket): void;
  /** Posts of this process are not in the ledger yet, as far as it knows. */
  hasUncommitted(bucket: Bucket): boolean;
  /** Entries of this bucket are on their way to the ledger at this moment. */
  isCommitting(bucket: Bucket): boolean;
}

interface MembershipOptions {
  readonly client: RedisCommands;
  /** This process, as buckets know it. */
  readonly process: string;
  readonly times: MembershipTimes;
  readonly machine: Machine;
  readonly events: MembershipEvents;
}

/**
 * Keeps this process a member of one bucket: shows that it lives, notices what Redis has lost, ends the
 * leases of the dead, and lets wallets be loaded in a new epoch once every member has committed its posts of the old one.
 */
export class Membership {
  /** What all others see of it. */
  readonly bucket: Bucket;
  private readonly options: MembershipOptions;
  private readonly session: Session;
  private readonly readiness = new Readiness();
  private readonly peers: Peers;
  private readonly claimedOutboxes = new Set<string>();
  private failures = 0;
  private moving = false;
  /** It was a member of the epoch before, and knows who else was. */
  private isWitness = false;
  /** When this process last knew that its leases stood, by the monotonic clock. */
  private freshAtMs = Number.NEGATIVE_INFINITY;

  constructor(keys: BucketKeys, options: MembershipOptions) {
    const { client, process } = options;
    this.options = options;
    this.session = new Session({ keys, client, process, onTrouble: (error) => this.fail(error) });
    this.bucket = new Bucket(keys, this.session, this.readiness, options.machine);
    this.peers = new Peers(options.times.leaseMs);
  }

  /** Outboxes of the dead that are this process's to commit. */
  get claimed(): ReadonlySet<string> {
    return this.claimedOutboxes;
  }

  /**
   * Returns true if its leases are known to stand. A process that has slept may have been taken for dead, and wallets
   * loaded without its posts: until it knows, they must not go to the ledger.
   */
  isFresh(nowMs: number): boolean {
    return nowMs - this.freshAtMs < this.options.times.leaseMs / 2;
  }

  /** One round; answers how long to wait for the next. Never rejects. */
  async step(nowMs: number): Promise<number> {
    try {
      const waitMs = await this.round(nowMs);
      this.failures = 0;
      return waitMs;
    } catch (error) {
      // The fence is up, which the next round sees to.
      if (isUnknownScript(error)) return 0;
      this.fail(error);
      this.failures += 1;
      return backoffMs(this.failures, LIFETIMES.roundRetryMsMin, LIFETIMES.roundRetryMsMax);
    }
  }

  /** An operation has failed: no money moves until a round finds everything in order. */
  fail(error: unknown): void {
    const wasReady = this.readiness.state === "ready";
    this.readiness.set(isJoining(error) ? "joining" : "away", false);
    this.options.events.failed(this.bucket, error, wasReady);
  }

  /** Gives back what this process holds, and leaves its outbox to the others. */
  async leave(): Promise<void> {
    if (this.session.epoch !== "") await this.ask("leave", this.session.epoch);
  }

  /** The calls that Redis holds money for in the name of this process. */
  async heldCalls(): Promise<string[]> {
    const reply = await this.ask("held-calls");
    return Array.isArray(reply) ? reply.map(textOf) : [];
  }

  /** Deletes the outbox of a dead process once it is empty. */
  async finish(orphan: string): Promise<void> {
    if (numberOf(await this.ask("finish", orphan)) !== 1) return;
    failpoint("lease.finished");
    this.claimedOutboxes.delete(orphan);
  }

  private async round(nowMs: number): Promise<number> {
    const { session } = this;
    // Operations that are answered while this is under way say nothing about what it should find.
    const seen = session.operationsSeen;
    const epoch = session.epoch === "" ? "0" : session.epoch;
    const view = readView(await this.ask("look", epoch, String(seen), this.moving ? "1" : "0"));
    switch (judge(session.epoch, seen, view)) {
      case "member":
        return this.maintain(view, nowMs);
      case "new":
        return this.join(view);
      case "lost":
        return this.declare(view.epoch, session.epoch);
      case "reaped":
        return this.expelled();
      case "moved":
        return this.move(view, nowMs);
    }
  }

  /** The bucket goes on in another epoch: what this process knows of the old one goes to the ledger first. */
  private async move(view: BucketView, nowMs: number): Promise<number> {
    const { bucket } = this;
    const { events } = this.options;
    if (!this.moving) {
      this.moving = true;
      this.isWitness = true;
      this.claimedOutboxes.clear();
      this.peers.awaitAllElsewhere();
      this.readiness.set("joining", false);
      events.moved(bucket);
    }
    this.freshAtMs = nowMs;
    if (!events.hasUncommitted(bucket)) return this.join(view);
    if (!view.acceptsLoads || events.isCommitting(bucket)) return LIFETIMES.joiningRoundMs;
    events.mustResend(bucket);
    failpoint("bucket.requeued");
    return 0;
  }

  private expelled(): number {
    const { bucket } = this;
    const { events } = this.options;
    this.readiness.set("joining", false);
    if (events.isCommitting(bucket)) return LIFETIMES.joiningRoundMs;
    events.expelled(bucket);
    this.claimedOutboxes.clear();
    this.isWitness = false;
    this.session.begin();
    return 0;
  }

  private async join(view: BucketView): Promise<number> {
    const { session } = this;
    this.readiness.set("joining", false);
    const epoch = textOf(await this.ask("join", view.epoch, session.epoch || "0"));
    if (epoch === "") return 0;
    this.moving = false;
    session.enter(epoch);
    failpoint("bucket.joined");
    await this.options.events.joined(this.bucket);
    return 0;
  }

  private async maintain(view: BucketView, nowMs: number): Promise<number> {
    const { session, peers, readiness } = this;
    const { heartbeatMs } = this.options.times;
    this.moving = false;
    this.freshAtMs = nowMs;
    if (session.isFenced) {
      readiness.set("joining", false);
      peers.awaitAll();
    }
    const silent = peers.silent(view, session.process, nowMs);
    const givenUp = peers.updateAwaited(view, nowMs);
    if (session.isFenced && view.acceptsLoads && (silent.length > 0 || givenUp)) {
      return this.abandonEpoch(view, silent);
    }
    for (const member of silent) await this.reap(member);
    await this.claimOrphans(view);
    peers.rememberMembers(view, session.process);
    if (session.isFenced) {
      if (peers.isAwaited || view.members.some((member) => !member.verified))
        return LIFETIMES.joiningRoundMs;
      await session.liftFence();
    } else if (readiness.state !== "ready") {
      await session.run("noop", [], [], asReply);
    }
    const allowLoads = view.acceptsLoads || (await this.acceptsLoads());
    const isNews = readiness.state !== "ready" || readiness.acceptsLoads !== allowLoads;
    readiness.set("ready", allowLoads);
    this.options.events.maintained(this.bucket);
    return allowLoads && !isNews ? heartbeatMs : Math.min(LIFETIMES.joiningRoundMs, heartbeatMs);
  }

  /**
   * Redis has restarted, and a member that could tell whether it has lost something does not come back. What was
   * committed is in the ledger: wallets are read from there again, and what Redis says now is not spent.
   */
  private abandonEpoch(view: BucketView, silent: readonly SilentMember[]): Promise<number> {
    for (const { process } of silent) this.peers.giveUp(process);
    return this.declare(view.epoch, view.epoch);
  }

  /** Ends an epoch in which something was lost. */
  private async declare(epoch: string, after: string): Promise<number> {
    await this.ask("declare", epoch, after);
    failpoint("bucket.declared");
    return 0;
  }

  private async reap({ process, beat }: SilentMember): Promise<void> {
    const voided = numberOf(await this.ask("reap", this.session.epoch, process, beat));
    this.peers.forget(process);
    if (voided < 0) return;
    failpoint("lease.reaped");
    this.options.events.reaped(this.bucket, process, voided);
  }

  private async claimOrphans(view: BucketView): Promise<void> {
    const members = new Set(view.members.map((member) => member.process));
    for (const [orphan, claimer] of view.orphans) {
      if (claimer === this.session.process) this.claimedOutboxes.add(orphan);
      else if (!members.has(claimer) && (await this.ask("claim", orphan, claimer)) === 1) {
        failpoint("lease.claimed");
        this.claimedOutboxes.add(orphan);
      }
    }
  }

  private async acceptsLoads(): Promise<boolean> {
    if (this.peers.isAwaited) return false;
    const { graceMs } = this.options.times;
    const ageMs = this.isWitness ? Math.min(graceMs, LIFETIMES.witnessGraceMs) : graceMs;
    const isAllowed = (await this.ask("allow-loads", this.session.epoch, String(ageMs))) === 1;
    if (isAllowed) failpoint("bucket.loadable");
    return isAllowed;
  }

  private ask(operation: MembersOperation, ...args: string[]): Promise<unknown> {
    const keys = [this.bucket.keys.epoch];
    return this.options.client.run(membersScript, keys, [operation, this.session.process, ...args]);
  }
}

type Judgement = "new" | "member" | "lost" | "moved" | "reaped";

/** What has become of the bucket, and of this process in it, since it last looked. */
function judge(epoch: string, operationsSeen: number, view: BucketView): Judgement {
  if (epoch === "") return "new";
  if (view.epoch === "" || Number(view.epoch) > Number(epoch)) return "moved";
  // An older epoch is back, or this one with less in it: an old snapshot was restored.
  if (Number(view.epoch) < Number(epoch)) return "lost";
  if (view.operations >= 0) return view.operations >= operationsSeen ? "member" : "lost";
  return view.reaped ? "reaped" : "lost";
}
