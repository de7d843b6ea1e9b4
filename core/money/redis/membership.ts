import { backoffMs } from "../../process/backoff.ts";
import { failpoint } from "../../process/failpoint.ts";
import { isUnknownScript } from "../../redis/client.ts";
import { numberOf, textOf } from "../../redis/reply.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { Bucket } from "./bucket.ts";
import { Doubt } from "./doubt.ts";
import { type HeldCalls, readHeldCalls } from "./held-calls.ts";
import { judge } from "./judgement.ts";
import type { BucketKeys } from "./keys.ts";
import { lookArguments } from "./look.ts";
import type { MembershipOptions } from "./membership-options.ts";
import { claimOrphans } from "./orphans.ts";
import { Peers, type SilentMember } from "./peers.ts";
import { settledRoundMsOf } from "./quiet.ts";
import { Readiness } from "./readiness.ts";
import { type MembersOperation, membersScript } from "./scripts.ts";
import { asReply, isJoining, NotMember, Session } from "./session.ts";
import { Settled } from "./settled.ts";
import { type BucketView, isAbandoned, readView } from "./view.ts";

/**
 * Keeps this process a member of one bucket. Each round sends a heartbeat, checks whether Redis lost data, and ends the
 * leases of silent members. A new epoch allows loads once every member has committed its posts of the old one.
 */
export class Membership {
  /** The bucket as holds, posts, wallets and commits use it. */
  readonly bucket: Bucket;
  /** Orphaned outboxes that this process has claimed, and so has to commit. */
  readonly claimed = new Set<string>();
  readonly settled = new Settled();
  /** This process ends an epoch whose wallets are not believed. */
  readonly doubt = new Doubt();
  private readonly options: MembershipOptions;
  private readonly session: Session;
  private readonly readiness = new Readiness();
  private readonly peers: Peers;
  private moving = false;
  /** Rounds that failed since the last that did not. */
  private failures = 0;
  private lastView: BucketView | undefined;
  /** True if this process was a member of the epoch before, so it knows the other members. */
  private isWitness = false;
  /** The last epoch that this process declared. */
  private begunEpoch = "";
  /** The edition that wallets rest on which this process has found, and does not believe yet: see `RedisKeptProgress`. */
  private foundEdition: string | undefined;
  /** Monotonic time at which this process joined the epoch. */
  private joinedAtMs = Number.NEGATIVE_INFINITY;
  /** Monotonic time of the last round that found the leases of this process in force. */
  private freshAtMs = Number.NEGATIVE_INFINITY;

  constructor(keys: BucketKeys, options: MembershipOptions) {
    this.options = options;
    this.session = new Session({ ...options, keys, onTrouble: (error) => this.fail(error) });
    this.bucket = new Bucket(keys, this.session, this.readiness, options);
    this.peers = new Peers(options.times.leaseMs, (member) => options.pulse.beatAtMs(member));
  }

  /**
   * Returns true if the leases of this process are surely in force: half a lease has not passed since the last check.
   * Otherwise (after a suspend) others may have loaded wallets without its posts: do not commit them before a check.
   */
  isFresh(nowMs: number): boolean {
    return nowMs - this.freshAtMs < this.options.times.leaseMs / 2;
  }

  /** The bucket as the last round found it. */
  get view(): BucketView | undefined {
    return this.lastView;
  }

  /**
   * Takes the epoch and version of the bucket, and the server ("" if not known), as the heartbeat read them after `nowMs`.
   * If nothing changed since the last round, this is as good as a round. Returns false if a round must look now.
   */
  glanced(epoch: unknown, version: unknown, nowMs: number, server: string): boolean {
    if (!this.settled.isSettled) return this.settled.end();
    // After a suspend a round must look: other processes may have ended the leases of this one.
    const isServer = server === "" || server === this.session.serverFound;
    const isSame = isServer && epoch === this.session.epoch && version === this.view?.version;
    if (!isSame || !this.isFresh(nowMs)) {
      // The next look then already says that posts of the earlier epoch are missing, before others allow loads.
      if (epoch === "" || Number(epoch) > Number(this.session.epoch)) this.noticeMove();
      return this.settled.end(epoch === this.session.epoch && this.isFresh(nowMs));
    }
    this.freshAtMs = Math.max(this.freshAtMs, nowMs);
    this.options.events.maintained(this.bucket);
    return true;
  }

  /** A heartbeat of all settled buckets found this one as the last look did. */
  beaten(hasHolds: boolean): void {
    if (this.lastView !== undefined) this.lastView = { ...this.lastView, hasHolds };
  }

  /** Runs one round. Returns the delay before the next, in ms. Never rejects. */
  async step(nowMs: number): Promise<number> {
    try {
      const waitMs = await this.round(nowMs);
      this.failures = 0;
      return waitMs;
    } catch (error) {
      // The server restarted and raised the fence. The next round handles that.
      if (isUnknownScript(error)) return 0;
      this.fail(error);
      this.failures += 1;
      return backoffMs(this.failures, LIFETIMES.roundRetryMsMin, LIFETIMES.roundRetryMsMax);
    }
  }

  /** Records a failed operation. No money moves in the bucket until a round has checked it. */
  fail(error: unknown): void {
    const wasReady = this.readiness.state === "ready";
    this.settled.end();
    this.readiness.set(isJoining(error) ? "joining" : "away", false);
    this.options.events.failed(this.bucket, error, wasReady);
  }

  /** Epochs up to this one have wallets from before the ledger went back. If Redis has one again, it ends again. */
  end(endedEpoch: number): void {
    if (!this.doubt.end(endedEpoch) || !this.doubt.isOver(this.session.epoch)) return;
    this.fail(new NotMember(this.bucket.name));
  }

  /** Ends the membership: voids the holds of this process, and lets another process claim its outbox. */
  async leave(): Promise<void> {
    if (this.session.epoch !== "") await this.ask("leave", this.session.epoch);
  }

  /** Returns the holds that an audit checks. */
  async heldCalls(): Promise<HeldCalls> {
    return readHeldCalls(await this.ask("held-calls"));
  }

  /** Deletes an orphaned outbox if it is empty. */
  async finish(orphan: string): Promise<void> {
    if (numberOf(await this.ask("finish", orphan)) !== 1) return;
    failpoint("lease.finished");
    this.claimed.delete(orphan);
  }

  private async round(nowMs: number): Promise<number> {
    const { session, settled } = this;
    const { isOutdated } = settled;
    const { pulse, client } = this.options;
    // Read before `look` is sent: replies that arrive later may count operations that `look` cannot see.
    const seen = session.operationsSeen;
    const isListWanted = !(settled.isSettled || isOutdated) || !pulse.isQuiet;
    settled.look();
    const { isCluster } = client;
    const found = { session, view: this.view, isMoving: this.moving, pulse, isCluster };
    const args = lookArguments({ ...found, isListWanted, isOutdated });
    const view = readView(await this.ask("look", ...args), this.view?.members);
    this.lastView = view;
    if (view.isListed || view.isUpdated) pulse.listed();
    session.found(view);
    if (this.doubt.concerns(view.epoch, this.begunEpoch)) return this.declare(view.epoch);
    switch (judge(session.epoch, seen, view)) {
      case "member":
        return this.maintain(view, nowMs);
      case "new":
        return this.join(view, nowMs);
      case "lost":
        return this.declare(view.epoch, session.epoch);
      case "reaped":
        return this.expelled();
      case "moved":
        return this.move(view, nowMs);
    }
  }

  /** The bucket is in another epoch. Commits the posts of the old one, then joins. */
  private async move(view: BucketView, nowMs: number): Promise<number> {
    const { events } = this.options;
    this.noticeMove();
    // Once loads are accepted, wallets may be loaded without these posts: a retry of the committer must not read them again.
    this.freshAtMs = view.acceptsLoads ? Number.NEGATIVE_INFINITY : nowMs;
    if (!events.hasUncommitted(this.bucket)) return this.join(view, nowMs);
    if (!view.acceptsLoads || events.isCommitting(this.bucket))
      return this.options.times.joiningRoundMs;
    events.mustResend(this.bucket);
    failpoint("bucket.requeued");
    return 0;
  }

  private noticeMove(): void {
    if (this.moving) return;
    this.moving = true;
    this.isWitness = true;
    this.claimed.clear();
    this.peers.awaitAllElsewhere();
    this.readiness.set("joining", false);
    this.options.events.moved(this.bucket);
  }

  private expelled(): number {
    const { events } = this.options;
    this.readiness.set("joining", false);
    if (events.isCommitting(this.bucket)) return this.options.times.joiningRoundMs;
    events.expelled(this.bucket);
    this.claimed.clear();
    this.isWitness = false;
    this.begunEpoch = "";
    this.session.begin();
    return 0;
  }

  private async join(view: BucketView, nowMs: number): Promise<number> {
    const { session } = this;
    this.readiness.set("joining", false);
    const isFound = session.epoch === "" && view.epoch !== this.begunEpoch;
    if (isFound && isAbandoned(view)) return this.declare(view.epoch);
    if (view.epoch === "") await this.options.events.beginning(this.bucket);
    const epoch = textOf(await this.ask("join", view.epoch, session.epoch || "0"));
    if (epoch === "") return 0;
    this.moving = false;
    this.foundEdition = isFound ? view.edition : undefined;
    session.enter(epoch);
    this.joinedAtMs = nowMs;
    failpoint("bucket.joined");
    await this.options.events.joined(this.bucket);
    return 0;
  }

  private async maintain(view: BucketView, nowMs: number): Promise<number> {
    const { session, peers, readiness, foundEdition } = this;
    const { times, events, pulse, counts } = this.options;
    this.moving = false;
    this.freshAtMs = nowMs;
    if (session.isFenced) {
      readiness.set("joining", false);
      peers.awaitAll();
    }
    const silent = peers.silent(view, session.process, nowMs);
    const givenUp = peers.updateAwaited(view, nowMs);
    if (session.isFenced && view.acceptsLoads && (silent.length > 0 || givenUp)) {
      // Redis restarted, and a member that could confirm its data has not rejoined within a lease: the data is not
      // trusted. Its end may take several rounds, and the members who were silent are forgotten now.
      for (const { process } of silent) peers.giveUp(process);
      this.doubt.raise(view.epoch);
      return this.declare(view.epoch);
    }
    for (const member of silent) await this.reap(member);
    await claimOrphans(view, session.process, this.claimed, (...args) => this.ask(...args));
    peers.rememberMembers(view, session.process);
    if (session.isFenced) {
      if (peers.isAwaited || view.members.some((member) => !member.verified))
        return times.joiningRoundMs;
      await session.liftFence();
    } else if (readiness.state !== "ready") {
      await session.run("noop", [], [], asReply);
    }
    if (foundEdition !== undefined && !(await counts.covers(this.bucket, foundEdition)))
      return this.declare(view.epoch);
    this.foundEdition = undefined;
    const allowLoads = view.acceptsLoads || (await this.acceptsLoads(nowMs));
    if (this.doubt.isOver(session.epoch)) return 0;
    const isChanged = readiness.state !== "ready" || readiness.acceptsLoads !== allowLoads;
    readiness.set("ready", allowLoads);
    events.maintained(this.bucket);
    if (!allowLoads || isChanged) return Math.min(times.joiningRoundMs, times.heartbeatMs);
    if (!pulse.isQuiet || view.joining.size > 0 || view.orphans.size > 0) return times.heartbeatMs;
    this.settled.begin();
    return settledRoundMsOf(times);
  }

  /** Ends an epoch that lost data, and begins the next. This process joins it in its next round. */
  private async declare(epoch: string, after = epoch): Promise<number> {
    await this.options.events.beginning(this.bucket);
    this.begunEpoch = textOf(await this.ask("declare", epoch, this.doubt.exceeded(after)));
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

  /** Asks for loads once the others had time to notice the epoch: by this process's clock, as Redis's may be set back. */
  private async acceptsLoads(nowMs: number): Promise<boolean> {
    if (this.peers.isAwaited) return false;
    const { graceMs } = this.options.times;
    const ageMs = this.isWitness ? Math.min(graceMs, LIFETIMES.witnessGraceMs) : graceMs;
    if (nowMs - this.joinedAtMs < ageMs) return false;
    const isAllowed = (await this.ask("allow-loads", this.session.epoch)) === 1;
    if (isAllowed) failpoint("bucket.loadable");
    return isAllowed;
  }

  private ask(operation: MembersOperation, ...args: string[]): Promise<unknown> {
    const { ofMembers } = this.bucket.keys;
    const all = [operation, this.session.process, ...args];
    return this.options.client.run(membersScript, ofMembers, all);
  }
}
