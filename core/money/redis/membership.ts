import { backoffMs } from "../../process/backoff.ts";
import { failpoint } from "../../process/failpoint.ts";
import { type Machine, sleep } from "../../process/machine.ts";
import { messageOf } from "../../process/thrown.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { isMovedSlot, isUnknownScript, RedisAway, type RedisCommands } from "../../redis/client.ts";
import { numberOf, textOf } from "../../redis/reply.ts";
import type { LedgerEpochs } from "../ledger-epochs.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { OutboxEntry, StoredEntry } from "../outbox-entry.ts";
import { Bucket, isJoining, LostOperations } from "./bucket.ts";
import { FailureDetector } from "./failure-detector.ts";
import type { BucketKeys } from "./keys.ts";
import type { OutageLog } from "./outage-log.ts";
import { epochScript } from "./scripts.ts";
import type { StoreTimes } from "./store-options.ts";
import { readView, type View } from "./view.ts";

/** Posts in one step of handing over: about 100 KB. */
const HANDED_OVER_MAX = 100;
const ENDS_TOO_OFTEN = "epochs_end_too_often";

export interface MembershipEvents {
  /** Says if the ledger may take the posts of other gateways. */
  mayClaim(): boolean;
  /** A look or an operation failed: Redis did not reply, or this gateway must join first. */
  failed(bucket: Bucket, error: unknown, wasReady: boolean): void;
  /** Called before this gateway begins an epoch. None begins if this rejects. */
  beginning(bucket: Bucket): Promise<void>;
  /** The uncommitted posts must be sent again. */
  mustResend(bucket: Bucket): void;
  /** This gateway has entered an epoch. */
  entered(bucket: Bucket): Promise<void>;
  /** The leases of this gateway ended while it was suspended: its holds are gone. */
  expelled(bucket: Bucket): void;
  /** A round found the bucket ready: work that an outage delayed can go on. */
  maintained(membership: Membership): void;
}

interface MembershipOptions {
  readonly client: RedisCommands;
  /** Id of this gateway, a UUID. */
  readonly process: string;
  readonly epochs: LedgerEpochs;
  readonly times: Pick<StoreTimes, "heartbeatMs" | "leaseMs" | "joiningRoundMs">;
  readonly machine: Machine;
  readonly outageLog: OutageLog;
  readonly events: MembershipEvents;
}

/** The ledger did not reply to a question about epochs. Redis did, so it is not away. */
class LedgerAway extends Error {}

/**
 * This gateway in the epochs of one bucket. Redis is a cache of the ledger, so whatever looks odd ends the epoch: another
 * server, no epoch or an earlier one, fewer operations than were acknowledged, an unknown script, a slot that moved, another
 * epoch in the ledger. Wallets are loaded again once every gateway of the ledger's list has committed its posts and entered
 * the next epoch, or was silent for a lease, and no earlier outbox is left.
 */
export class Membership {
  readonly bucket: Bucket;
  /** Outboxes of other gateways that this one has claimed, and so has to commit. */
  readonly claimed = new Set<string>();
  private readonly detector: FailureDetector;
  private lastView: View | undefined;
  /**
   * The last epoch that this gateway entered, in the ledger or in Redis, also after its leases were ended. Once the ledger has
   * it there, no earlier one may be used: the others wait for it no more.
   */
  private lastEntered = "";
  /** An epoch that must end. */
  private odd: { readonly epoch: string; readonly reason: string } | undefined;
  /** The epoch that the last look found, and the monotonic time at which a look found it first. */
  private found = { epoch: "", atMs: 0 };
  /** The name in the ledger that no epoch in Redis has, and when this gateway read it first. */
  private taken = { name: "", atMs: 0 };
  /** The name that this gateway took last: only this one may begin it. */
  private ownName = "";
  private isMoving = false;
  /** True if the ledger has this gateway as a member of the epoch. Without it this gateway takes no hold, and commits nothing. */
  private isListed = false;
  /** The ledger refused a commit: perhaps it does not have this gateway as a member. */
  private isRefused = false;
  private endedAtMs: number[] = [];
  private nextOpenMs = 0;
  /** Rounds that failed since the last that did not. */
  private failures = 0;

  constructor(
    keys: BucketKeys,
    private readonly options: MembershipOptions,
  ) {
    const onTrouble = (error: unknown, epoch: string) => this.trouble(error, epoch);
    this.bucket = new Bucket(keys, { ...options, onTrouble });
    this.detector = new FailureDetector(options.times.leaseMs);
  }

  /** The bucket as the last round found it. */
  get view(): View | undefined {
    return this.lastView;
  }

  /** True if the ledger takes commits of this gateway. */
  get canCommit(): boolean {
    return this.isListed && !this.isRefused;
  }

  /** The ledger refused a commit of this bucket: looks if this gateway is still a member. */
  refused(): void {
    this.isRefused = true;
  }

  /** Runs one round. Returns the delay before the next, in ms. Never rejects. */
  async step(nowMs: number): Promise<number> {
    try {
      const waitMs = await this.round(nowMs);
      this.failures = 0;
      return waitMs;
    } catch (error) {
      if (error instanceof LedgerAway) {
        this.options.outageLog.ledgerFailed(error.cause);
        if (this.bucket.state !== "ready") this.close("joining");
      } else {
        this.trouble(error, this.lastView?.epoch ?? "");
      }
      this.failures += 1;
      return backoffMs(this.failures, LIFETIMES.roundRetryMsMin, LIFETIMES.roundRetryMsMax);
    }
  }

  /** Ends the membership: voids the holds of this gateway, and lets another one claim its outbox. */
  async leave(): Promise<void> {
    const { bucket } = this;
    if (bucket.epoch === "") return;
    await this.ask("leave", bucket.epoch);
    await this.options.epochs.leave(bucket.name, [bucket.process]);
  }

  /** Ends the epoch, because an operator restores the wallets from the ledger. Rejects if a store does not reply. */
  async endNow(): Promise<void> {
    const { machine, times } = this.options;
    const { epoch } = await this.look();
    if (epoch === "") return;
    const untilMs = machine.monotonic() + LIFETIMES.restoreWaitMs;
    this.doubt(epoch, "an operator restores the wallets");
    this.close("joining");
    while ((await this.look()).epoch === epoch) {
      if (machine.monotonic() > untilMs)
        throw new Error(
          "the wallets in Redis could not be dropped: the ledger does not reply; try again",
        );
      await sleep(machine, times.joiningRoundMs);
    }
  }

  /** Deletes an orphaned outbox if it is empty. */
  async finish(orphan: string): Promise<void> {
    if (numberOf(await this.ask("finish", orphan)) !== 1) return;
    failpoint("lease.finished");
    this.claimed.delete(orphan);
  }

  private async round(nowMs: number): Promise<number> {
    const { bucket } = this;
    // Read before `look` is sent: replies that arrive later may count operations that `look` cannot see.
    const seen = bucket.operationsSeen;
    const view = await this.look();
    if (view.epoch !== this.found.epoch) this.found = { epoch: view.epoch, atMs: nowMs };
    const isMine = view.epoch !== "" && view.epoch === bucket.epoch;
    // Also if it does not know that it entered, because that reply was lost.
    if (view.isReaped) return this.expelled();
    const reason = this.oddity(view, isMine ? seen : undefined);
    if (reason !== undefined) return this.end(view, reason, nowMs);
    if (bucket.refusal?.cause === ENDS_TOO_OFTEN) bucket.refusal = undefined;
    return isMine ? this.maintain(view, nowMs) : this.move(view, nowMs);
  }

  /** Returns what is odd about a bucket, so that its epoch must end; undefined if nothing is. `seen`: of a member. */
  private oddity(view: View, seen: number | undefined): string | undefined {
    const { epoch } = view;
    if (epoch === "") return "Redis has no epoch";
    if (view.server !== view.epochServer) return "Redis restarted, or another server took over";
    if (seen !== undefined && view.operations < seen) return "Redis has lost operations";
    const { lastEntered } = this;
    if (epoch !== lastEntered && counterOf(epoch) <= counterOf(lastEntered))
      return "Redis has an earlier epoch";
    return this.odd?.epoch === epoch ? this.odd.reason : undefined;
  }

  private async end(view: View, reason: string, nowMs: number): Promise<number> {
    const { bucket, options } = this;
    this.close("joining");
    this.noticeMove();
    const sinceMs = nowMs - LIFETIMES.epochsEndedWithinMs;
    this.endedAtMs = this.endedAtMs.filter((atMs) => atMs > sinceMs);
    if (this.endedAtMs.length >= LIFETIMES.epochsEndedMax) {
      const why = `this gateway ended ${this.endedAtMs.length} epochs of Redis within a minute: ${reason}`;
      bucket.refusal = { cause: ENDS_TOO_OFTEN, reason: why };
      options.outageLog.endsTooMany(bucket.process, reason);
      return LIFETIMES.roundRetryMsMax;
    }
    if (!(await this.begin(view, nowMs))) return options.times.joiningRoundMs;
    this.endedAtMs.push(nowMs);
    return 0;
  }

  /**
   * Takes the name of the next epoch in the ledger, then begins it in Redis. Returns false if another gateway does. One that
   * took a name and died leaves a name that no epoch has; it is skipped after `epochTakenMs`, and this gateway's own at once.
   */
  private async begin(view: View, nowMs: number): Promise<boolean> {
    const { bucket, options } = this;
    const { events, epochs, machine } = options;
    await events.beginning(bucket);
    const last = await this.askLedger(() => epochs.read(bucket.name));
    const known = Math.max(counterOf(view.epoch), counterOf(this.lastEntered));
    const counter = counterOf(last.name);
    if (counter > known && last.name !== this.ownName) {
      if (this.taken.name !== last.name) this.taken = { name: last.name, atMs: nowMs };
      if (nowMs - this.taken.atMs < LIFETIMES.epochTakenMs) return false;
    }
    const name = `${Math.max(counter, known) + 1}-${machine.uuid().slice(0, 8)}`;
    const isBegun = await this.askLedger(() =>
      epochs.begin(bucket.name, last.name, name, counter < known),
    );
    if (!isBegun) return false;
    this.ownName = name;
    failpoint("epoch.named");
    const begun = textOf(await this.ask("begin", view.epoch, name, view.server));
    failpoint("epoch.begun");
    return begun !== "";
  }

  /** Another epoch has begun. Commits what this gateway posted, then enters it. */
  private async move(view: View, nowMs: number): Promise<number> {
    const { bucket, options, isRefused } = this;
    const { events, times } = options;
    this.close("joining");
    this.noticeMove();
    const isLate = nowMs - this.found.atMs >= times.leaseMs;
    const posts = bucket.epoch === "" ? [] : [...bucket.outbox.posted.values()];
    if (posts.length > 0) {
      if (!view.isOpen && !isRefused && !isLate) return times.joiningRoundMs;
      // Without them nothing is lost: they are posted again. But wallets would be loaded without them, unless they are already.
      if (isLate && !view.isOpen && !(await this.handOver(view, posts))) return 0;
      events.mustResend(bucket);
      failpoint("bucket.requeued");
    }
    try {
      if (!(await this.list(view.epoch))) return 0;
    } catch (error) {
      // Others wait for this gateway, and it cannot reach the ledger. It enters without, and takes no hold.
      if (!isLate || bucket.epoch === "") throw error;
      this.isListed = false;
      const why = "Redis lost its data, and this gateway cannot reach the ledger";
      bucket.refusal = { cause: "ledger_unreachable", reason: why };
    }
    await bucket.load(view.server);
    if (textOf(await this.ask("enter", view.epoch)) === "") return 0;
    // A reply may have come late, of a post in an earlier epoch: the ledger takes no commit of that any more.
    events.mustResend(bucket);
    bucket.enter(view.epoch, view.server);
    this.lastEntered = view.epoch;
    this.isMoving = false;
    this.detector.forgetAll();
    failpoint("bucket.joined");
    await events.entered(bucket);
    return 0;
  }

  /** Makes this gateway a member in the ledger; the ledger refuses its commits of earlier epochs from then on. */
  private async list(epoch: string): Promise<boolean> {
    const { bucket, options } = this;
    const isLast = await this.askLedger(() =>
      options.epochs.enter(bucket.name, epoch, bucket.process),
    );
    if (isLast) {
      this.lastEntered = epoch;
      this.isListed = true;
      this.isRefused = false;
      bucket.refusal = undefined;
    } else this.doubt(epoch, "the ledger has another epoch");
    return isLast;
  }

  /** Gives the posts to an outbox that no gateway has claimed, so that one that reaches the ledger commits them. */
  private async handOver(view: View, posts: readonly StoredEntry[]): Promise<boolean> {
    const { bucket } = this;
    for (let at = 0; at < posts.length; at += HANDED_OVER_MAX) {
      const args = posts.slice(at, at + HANDED_OVER_MAX).flatMap(handedOver);
      const isTaken = await this.ask("hand-over", view.epoch, bucket.epoch, ...args);
      if (isTaken !== 1) return false;
    }
    return true;
  }

  private async maintain(view: View, nowMs: number): Promise<number> {
    const { bucket, options } = this;
    const { times, events } = options;
    await this.endLeases(view, nowMs);
    if (!this.canCommit) await this.listAgain();
    if (this.canCommit && events.mayClaim()) await this.claim(view, nowMs);
    if (this.odd?.epoch === view.epoch) return 0;
    // Fails on another server than the one on which the epoch began.
    if (bucket.state !== "ready") await bucket.confirm();
    this.isMoving = false;
    const isOpen = view.isOpen || (await this.open(view, nowMs));
    bucket.set("ready", isOpen);
    events.maintained(this);
    return isOpen ? times.heartbeatMs : Math.min(times.joiningRoundMs, times.heartbeatMs);
  }

  /** Heartbeats go on while the ledger is down. */
  private async listAgain(): Promise<void> {
    try {
      await this.list(this.bucket.epoch);
    } catch (error) {
      if (!(error instanceof LedgerAway)) throw error;
      this.options.outageLog.ledgerFailed(error.cause);
    }
  }

  /** Ends the leases of members that were silent for a lease by this gateway's own clock. */
  private async endLeases(view: View, nowMs: number): Promise<void> {
    const { bucket, options } = this;
    for (const [gateway, beat] of view.members) {
      if (gateway === bucket.process || !this.detector.isSilent(gateway, beat, nowMs)) continue;
      const voided = numberOf(await this.ask("reap", bucket.epoch, gateway, beat));
      this.detector.forget(gateway);
      if (voided < 0) continue;
      failpoint("lease.reaped");
      // The next epoch would wait for it. If this fails, it does so, for a lease.
      options.epochs.leave(bucket.name, [gateway]).catch(() => {});
      options.outageLog.reaped(gateway, voided);
    }
  }

  /**
   * Claims the orphaned outboxes that no living member has claimed, and those that became no shorter for a lease: perhaps the
   * claimer does not reach the ledger. For a moment two may commit one: the ledger takes each call once.
   */
  private async claim(view: View, nowMs: number): Promise<void> {
    for (const [orphan, state] of view.orphans) {
      const [claimer = ""] = state.split(" ");
      const isStuck = this.detector.isSilent(`orphan ${orphan}`, state, nowMs);
      const isOurs =
        claimer === this.bucket.process ||
        ((isStuck || !view.members.has(claimer)) &&
          (await this.ask("claim", orphan, claimer)) === 1);
      if (!isOurs) {
        this.claimed.delete(orphan);
        continue;
      }
      failpoint("lease.claimed");
      this.claimed.add(orphan);
    }
  }

  /** Opens the epoch once no gateway is awaited and no earlier outbox is left. Returns true if it is open. */
  private async open(view: View, nowMs: number): Promise<boolean> {
    const { bucket, options, found } = this;
    const { epochs, times } = options;
    if (!this.isListed || view.hasEarlierOutbox || nowMs < this.nextOpenMs) return false;
    // Together all gateways ask the ledger some 200 times a second.
    this.nextOpenMs = nowMs + times.joiningRoundMs + LIFETIMES.openMsEach * view.members.size;
    const last = await this.askLedger(() => epochs.read(bucket.name));
    if (last.name !== view.epoch) {
      this.doubt(view.epoch, "the ledger has another epoch");
      return false;
    }
    // After a restore the ledger perhaps does not know a gateway that lives. It writes itself again within a lease.
    if (last.isRestored && nowMs - found.atMs < times.leaseMs) return false;
    const removable: string[] = [];
    for (const [gateway, epoch] of last.members) {
      if (epoch === view.epoch) continue;
      const beat = view.joining.get(gateway) ?? "";
      const isSilent = this.detector.isSilent(`joining ${gateway}`, beat, nowMs);
      if (isSilent || view.members.has(gateway)) removable.push(gateway);
    }
    if (!(await this.askLedger(() => epochs.open(bucket.name, view.epoch, removable))))
      return false;
    const isOpen = (await this.ask("open", view.epoch)) === 1;
    if (isOpen) failpoint("bucket.loadable");
    return isOpen;
  }

  /** Others ended the leases of this gateway: its holds are gone, and its outbox is theirs. */
  private expelled(): number {
    const { bucket, options } = this;
    this.close("joining");
    options.events.expelled(bucket);
    this.claimed.clear();
    this.isListed = false;
    options.epochs.leave(bucket.name, [bucket.process]).catch(() => {});
    bucket.expelled();
    return 0;
  }

  private noticeMove(): void {
    if (this.isMoving) return;
    this.isMoving = true;
    this.claimed.clear();
    this.detector.forgetAll();
    if (this.bucket.epoch !== "") this.options.outageLog.moved();
  }

  private trouble(error: unknown, epoch: string): void {
    const wasReady = this.bucket.state === "ready";
    if (isUnknownScript(error)) this.doubt(epoch, "Redis does not know the script of this epoch");
    if (error instanceof LostOperations) this.doubt(epoch, "Redis has lost operations");
    if (isMovedSlot(error)) this.doubt(epoch, "the slot moved to another node");
    this.bucket.fault = error instanceof RedisAway ? error.reason : messageOf(error);
    this.close(isJoining(error) ? "joining" : "away");
    this.options.events.failed(this.bucket, error, wasReady);
  }

  private doubt(epoch: string, reason: string): void {
    if (epoch !== "") this.odd = { epoch, reason };
  }

  private close(state: "joining" | "away"): void {
    this.bucket.set(state, false);
  }

  private async look(): Promise<View> {
    const view = readView(await this.ask("look"));
    this.lastView = view;
    this.bucket.isFull = view.isFull;
    return view;
  }

  /** Raises the heartbeat while it waits: a round may ask several times, and a slow ledger must not look like a dead gateway. */
  private async askLedger<T>(work: () => Promise<T>): Promise<T> {
    const { machine, times } = this.options;
    const beats = machine.every(times.heartbeatMs, () => void this.ask("look").catch(() => {}));
    try {
      const result = await withTimeout(work(), LIFETIMES.epochsReplyMs, machine);
      if (result !== TIMED_OUT) return result;
    } catch (error) {
      throw new LedgerAway("the ledger failed", { cause: error });
    } finally {
      beats.close();
    }
    throw new LedgerAway("the ledger failed", { cause: new Error("the ledger did not reply") });
  }

  private ask(operation: string, ...args: string[]): Promise<unknown> {
    const { ofEpoch } = this.bucket.keys;
    const all = [operation, this.bucket.process, ...args];
    return this.options.client.run(epochScript, ofEpoch, all);
  }
}

/** Returns the counter of an epoch's name; 0 for "". */
function counterOf(name: string): number {
  return Number.parseInt(name, 10) || 0;
}

/** Returns a post as `hand-over` of `epoch.lua` takes it. */
function handedOver(entry: StoredEntry): string[] {
  const { callId } = entry.posting ?? entry.call;
  const off = (entry as Partial<OutboxEntry>).writtenOffMicroVnd ?? 0;
  return [callId, entry.text, String(entry.chargedMicroVnd), String(off)];
}
