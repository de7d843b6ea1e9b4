import { backoffMs } from "../../process/backoff.ts";
import { failpoint } from "../../process/failpoint.ts";
import { isUnknownScript, type RedisClient } from "../../redis/client.ts";
import { numberOf, textOf } from "../../redis/reply.ts";
import { asReply, type Bucket } from "./bucket.ts";
import { Watch } from "./failure-detector.ts";
import { type MembersOperation, membersScript } from "./scripts.ts";
import { type Look, readLook } from "./view.ts";

export interface KeeperSettings {
  /** Between two signs of life. */
  readonly heartbeatMs: number;
  /** A process that shows none for this long has lost its holds and its outbox to the others. */
  readonly leaseMs: number;
  /**
   * Age of an epoch before a process that has just started opens wallets in it: time for every other one to
   * notice that it began. Whoever was there before knows for whom to wait, and waits less.
   */
  readonly graceMs: number;
}

export interface KeeperEvents {
  /** Redis did not answer this round. */
  failed(bucket: Bucket, error: unknown): void;
  /** Redis has lost something of this bucket, and it goes on in a new epoch. */
  moved(bucket: Bucket): void;
  /** Wallets of the new epoch were opened without the posts that this process still keeps. */
  leftBehind(bucket: Bucket): void;
  /** The leases of this process have ended while it slept: its holds are gone. */
  expelled(bucket: Bucket): void;
  /** This process is a member of a new epoch, and its operations pass once it is ready. */
  joined(bucket: Bucket): Promise<void>;
  /** Another process was silent, and what it held was given back. */
  reaped(bucket: Bucket, process: string, voidedHolds: number): void;
  /** Everything is in order: the moment for work that had to wait. */
  tended(bucket: Bucket): void;
  /** Entries of this bucket are on their way to the ledger at this moment. */
  isSettling(bucket: Bucket): boolean;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 250;
const SOON_MS = 20;
/** For a process that has joined since this one last looked. */
const WITNESS_GRACE_MS = 300;

/**
 * Keeps this process a member of one bucket: shows that it lives, notices what Redis has lost, ends the
 * leases of the dead, and lets wallets be opened in a new epoch once everyone has settled what the old one owed.
 */
export class Keeper {
  private readonly bucket: Bucket;
  private readonly client: RedisClient;
  private readonly settings: KeeperSettings;
  private readonly events: KeeperEvents;
  private readonly watch: Watch;
  private failures = 0;
  private incarnation = 0;
  private moving = false;
  /** It was a member of the epoch before, and knows who else was. */
  private isWitness = false;
  /** The other members as last seen. */
  private known = new Set<string>();
  /** Those among them that must show up again, or be silent, before money moves. */
  private readonly awaited = new Set<string>();
  /** Outboxes of the dead that are this process's to settle. */
  readonly claimed = new Set<string>();

  constructor(bucket: Bucket, client: RedisClient, settings: KeeperSettings, events: KeeperEvents) {
    this.bucket = bucket;
    this.client = client;
    this.settings = settings;
    this.events = events;
    this.watch = new Watch(settings.leaseMs);
  }

  /** One round; answers how long to wait for the next. Never rejects. */
  async step(nowMs: number): Promise<number> {
    try {
      const waitMs = await this.round(nowMs);
      this.failures = 0;
      return waitMs;
    } catch (error) {
      // The gate is closed, which the next round sees to.
      if (isUnknownScript(error)) return 0;
      this.events.failed(this.bucket, error);
      this.failures += 1;
      return backoffMs(this.failures, RETRY_MS_MIN, RETRY_MS_MAX);
    }
  }

  /** Gives back what this process holds, and leaves its outbox to the others. */
  async leave(): Promise<void> {
    if (this.bucket.epoch !== "") await this.ask("leave", this.bucket.epoch);
  }

  /** The calls that Redis holds money for in the name of this process. */
  async held(): Promise<string[]> {
    const reply = await this.ask("mine");
    return Array.isArray(reply) ? reply.map(textOf) : [];
  }

  /** Deletes the outbox of a dead process once it is empty. */
  async finish(orphan: string): Promise<void> {
    if (numberOf(await this.ask("finish", orphan)) !== 1) return;
    failpoint("lease.finished");
    this.claimed.delete(orphan);
  }

  private async round(nowMs: number): Promise<number> {
    const { bucket } = this;
    // Operations that are answered while this is under way say nothing about what it should find.
    const told = bucket.told;
    const epoch = bucket.epoch === "" ? "0" : bucket.epoch;
    const reply = await this.ask("look", epoch, String(told), this.moving ? "1" : "0");
    const look = readLook(reply);
    switch (judge(bucket, told, look)) {
      case "member":
        return this.tend(look, nowMs);
      case "new":
        return this.join(look);
      case "lost":
        await this.ask("declare", look.epoch, bucket.epoch);
        failpoint("bucket.declared");
        return 0;
      case "reaped":
        return this.expelled();
      case "moved":
        return this.move(look, nowMs);
    }
  }

  /** The bucket goes on in another epoch: what this process knows of the old one goes to the ledger first. */
  private async move(look: Look, nowMs: number): Promise<number> {
    const { bucket } = this;
    if (!this.moving) {
      this.moving = true;
      this.isWitness = true;
      this.claimed.clear();
      for (const process of this.known) {
        this.awaited.add(process);
        this.watch.rename(process, `awaited ${process}`);
      }
      bucket.setState("joining", false);
      this.events.moved(bucket);
    }
    bucket.freshAtMs = nowMs;
    if (bucket.unsettled.size === 0) return this.join(look);
    if (!look.open || this.events.isSettling(bucket)) return SOON_MS;
    this.events.leftBehind(bucket);
    failpoint("bucket.offered");
    return 0;
  }

  private expelled(): number {
    const { bucket } = this;
    bucket.setState("joining", false);
    if (this.events.isSettling(bucket)) return SOON_MS;
    this.events.expelled(bucket);
    this.claimed.clear();
    this.isWitness = false;
    this.incarnation += 1;
    bucket.process = `${bucket.process.split("~")[0]}~${this.incarnation}`;
    bucket.epoch = "";
    return 0;
  }

  private async join(look: Look): Promise<number> {
    const { bucket } = this;
    bucket.setState("joining", false);
    const epoch = textOf(await this.ask("join", look.epoch, bucket.epoch || "0"));
    if (epoch === "") return 0;
    this.moving = false;
    bucket.enter(epoch);
    failpoint("bucket.joined");
    await this.events.joined(bucket);
    return 0;
  }

  private async tend(look: Look, nowMs: number): Promise<number> {
    const { bucket, settings } = this;
    this.moving = false;
    bucket.freshAtMs = nowMs;
    if (!bucket.gateOpen) {
      bucket.setState("joining", false);
      for (const process of this.known) this.awaited.add(process);
    }
    const silent = this.silent(look, nowMs);
    const givenUp = this.meet(look, nowMs);
    if (!bucket.gateOpen && look.open && (silent.length > 0 || givenUp)) {
      return this.distrust(look, silent);
    }
    for (const member of silent) await this.reap(member);
    await this.claimOrphans(look);
    this.known = new Set(
      look.members.map((member) => member.process).filter((process) => process !== bucket.process),
    );
    if (!bucket.gateOpen) {
      if (this.awaited.size > 0 || look.members.some((member) => !member.verified)) return SOON_MS;
      await bucket.openGate();
    } else if (bucket.state !== "ready") {
      await bucket.run("noop", [], [], asReply);
    }
    const open = look.open || (await this.open());
    const isNews = bucket.state !== "ready" || bucket.open !== open;
    bucket.setState("ready", open);
    this.events.tended(bucket);
    return open && !isNews ? settings.heartbeatMs : Math.min(SOON_MS, settings.heartbeatMs);
  }

  /**
   * Redis has restarted, and somebody who could tell whether it has lost something does not come back. What was
   * settled is in the ledger: wallets are read from there again, and what Redis says now is not spent.
   */
  private async distrust(look: Look, silent: readonly SilentMember[]): Promise<number> {
    for (const { process } of silent) this.known.delete(process);
    await this.ask("declare", look.epoch, look.epoch);
    failpoint("bucket.declared");
    return 0;
  }

  /**
   * Crosses off whom nobody need wait for: who is here again, and who has been silent for long enough. True
   * where somebody was given up.
   */
  private meet(look: Look, nowMs: number): boolean {
    let givenUp = false;
    const here = new Set(look.members.map((member) => member.process));
    for (const process of this.awaited) {
      const beat = look.joining.get(process) ?? "";
      const isHere = here.has(process);
      if (!isHere && !this.watch.isSilent(`awaited ${process}`, beat, nowMs)) continue;
      givenUp ||= !isHere;
      this.awaited.delete(process);
      this.known.delete(process);
      this.watch.forget(`awaited ${process}`);
    }
    return givenUp;
  }

  private silent(look: Look, nowMs: number): SilentMember[] {
    const members = look.members.map(({ process, beat }) => ({ process, beat }));
    const joining = [...look.joining].map(([process, beat]) => ({ process, beat }));
    return [...members, ...joining].filter(
      ({ process, beat }) =>
        process !== this.bucket.process && this.watch.isSilent(process, beat, nowMs),
    );
  }

  private async reap({ process, beat }: SilentMember): Promise<void> {
    const { bucket } = this;
    const voided = numberOf(await this.ask("reap", bucket.epoch, process, beat));
    this.watch.forget(process);
    if (voided < 0) return;
    failpoint("lease.reaped");
    this.events.reaped(bucket, process, voided);
  }

  private async claimOrphans(look: Look): Promise<void> {
    const members = new Set(look.members.map((member) => member.process));
    for (const [orphan, claimer] of look.orphans) {
      if (claimer === this.bucket.process) this.claimed.add(orphan);
      else if (!members.has(claimer) && (await this.ask("claim", orphan, claimer)) === 1) {
        failpoint("lease.claimed");
        this.claimed.add(orphan);
      }
    }
  }

  private async open(): Promise<boolean> {
    if (this.awaited.size > 0) return false;
    const { graceMs } = this.settings;
    const ageMs = this.isWitness ? Math.min(graceMs, WITNESS_GRACE_MS) : graceMs;
    const isOpen = (await this.ask("open", this.bucket.epoch, String(ageMs))) === 1;
    if (isOpen) failpoint("bucket.opened");
    return isOpen;
  }

  private ask(operation: MembersOperation, ...args: string[]): Promise<unknown> {
    const { bucket } = this;
    return this.client.run(membersScript, [bucket.epochKey], [operation, bucket.process, ...args]);
  }
}

interface SilentMember {
  readonly process: string;
  readonly beat: string;
}

type Judgement = "new" | "member" | "lost" | "moved" | "reaped";

/** What has become of the bucket, and of this process in it, since it last looked. */
function judge(bucket: Bucket, told: number, look: Look): Judgement {
  if (bucket.epoch === "") return "new";
  if (look.epoch === "" || Number(look.epoch) > Number(bucket.epoch)) return "moved";
  // An older epoch is back, or this one with less in it: an old snapshot was restored.
  if (Number(look.epoch) < Number(bucket.epoch)) return "lost";
  if (look.mine >= 0) return look.mine >= told ? "member" : "lost";
  return look.reaped ? "reaped" : "lost";
}
