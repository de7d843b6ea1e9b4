import type { Machine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { FailureDetector } from "./failure-detector.ts";
import { beatKey, noKey } from "./keys.ts";
import type { Membership } from "./membership.ts";
import type { MembershipTimes, Pulse } from "./membership-options.ts";
import { quietMsOf } from "./quiet.ts";
import { beatScript } from "./scripts.ts";

/**
 * Each process watches the next ones in the order of their ids, in a ring, so that its cost does not grow with their
 * number. Up to 17 processes all watch all others.
 */
const WATCHED_MAX = 16;
/** A process that joined a bucket again after its leases had ended has another id there. */
const INCARNATION = /~\d+$/;

interface HeartbeatOptions {
  readonly client: RedisCommands;
  readonly prefix: string;
  /** Id of this process, a UUID. */
  readonly process: string;
  readonly memberships: ReadonlyMap<unknown, Membership>;
  /** Makes the next round of a bucket run now. */
  readonly hurry: (membership: Membership) => void;
  /** Beats in the settled buckets in which that is due before the next heartbeat. */
  readonly beatSettled: (nowMs: number) => void;
  readonly times: Pick<MembershipTimes, "heartbeatMs" | "leaseMs">;
  readonly machine: Machine;
}

/**
 * The heartbeat of this process, once for all buckets. While the processes that it watches beat too, and a bucket has the
 * version that this process knows, its rounds look at the bucket seldom: see `Membership.glanced`. This is only cheaper
 * than a look, never the reason to end a lease: that takes heartbeats of the bucket itself, which looks count.
 *
 * A process beats only while it is fresh in every bucket, so one key in one slot is enough. While it
 * does not beat, it looks at each bucket at every heartbeat, so that others find it alive in those that it reaches.
 */
export class Heartbeat implements Pulse {
  private readonly options: HeartbeatOptions;
  private readonly task: PeriodicTask;
  private readonly detector: FailureDetector;
  private readonly quietMs: number;
  private watched: readonly string[] = [];
  private isListChanged = true;
  private count = 0;
  private quietUntilMs = Number.NEGATIVE_INFINITY;
  private foundServer = "";

  constructor(options: HeartbeatOptions) {
    this.options = options;
    this.detector = new FailureDetector(options.times.leaseMs);
    this.quietMs = quietMsOf(options.times);
    this.task = new PeriodicTask(() => this.round(), options.machine);
  }

  get isQuiet(): boolean {
    return this.options.machine.monotonic() < this.quietUntilMs;
  }

  get server(): string {
    return this.isQuiet && !this.options.client.isCluster ? this.foundServer : "";
  }

  beatAtMs(member: string): number | undefined {
    return this.detector.sinceMs(processOf(member));
  }

  listed(): void {
    this.isListChanged = true;
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async round(): Promise<number> {
    const { machine, times } = this.options;
    const nowMs = machine.monotonic();
    const memberships = [...this.options.memberships.values()];
    this.watch(memberships);
    // Sent in one turn, so in one write.
    const beat = this.beat(memberships, nowMs);
    const glances = this.glances(memberships, nowMs, beat);
    // After the glances, so that each look is newer: it sees what a glance has seen.
    this.options.beatSettled(nowMs);
    await Promise.all([beat, ...glances]);
    if (!this.isQuiet) for (const membership of memberships) this.lookAt(membership);
    return times.heartbeatMs;
  }

  private lookAt(membership: Membership): void {
    if (!membership.settled.end()) this.options.hurry(membership);
  }

  /** Chooses the processes to watch, when the members of a bucket were listed. */
  private watch(memberships: readonly Membership[]): void {
    if (!this.isListChanged) return;
    this.isListChanged = false;
    const own = this.options.process;
    const processes = new Set([own]);
    for (const { view } of memberships)
      for (const { process } of view?.members ?? []) processes.add(processOf(process));
    const ring = [...processes].sort();
    const after = ring.indexOf(own) + 1;
    const watched = [...ring.slice(after), ...ring.slice(0, after - 1)].slice(0, WATCHED_MAX);
    for (const process of this.watched)
      if (!watched.includes(process)) this.detector.forget(process);
    this.watched = watched;
  }

  private async beat(memberships: readonly Membership[], nowMs: number): Promise<void> {
    const { client, prefix, process } = this.options;
    const { watched } = this;
    const isAlive = memberships.every((membership) => membership.isFresh(nowMs));
    if (isAlive) this.count += 1;
    const keys = [noKey(prefix), ...[process, ...watched].map((each) => beatKey(prefix, each))];
    const args = [isAlive ? String(this.count) : "", String(LIFETIMES.beatKeptMs)];
    const reply = await client.run(beatScript, keys, args).catch(() => undefined);
    // Without a reply, the heartbeats read before count until they are too old.
    if (reply === undefined) return;
    const beats = listOf(reply).map(textOf);
    this.foundServer = beats.pop() ?? "";
    let isQuiet = true;
    for (const [at, beat] of beats.entries()) {
      const other = watched[at] ?? "";
      this.detector.isSilent(other, beat, nowMs);
      const sinceMs = this.detector.sinceMs(other) ?? nowMs;
      isQuiet &&= beat !== "" && nowMs - sinceMs < this.quietMs;
    }
    this.quietUntilMs = isQuiet && isAlive ? nowMs + this.quietMs : Number.NEGATIVE_INFINITY;
  }

  /** Reads epoch and version of every bucket: by one command, or in a cluster by one for each. */
  private glances(
    memberships: readonly Membership[],
    nowMs: number,
    beat: Promise<void>,
  ): Promise<void>[] {
    const { client } = this.options;
    if (!client.isCluster) return [this.glance(memberships, nowMs, beat)];
    return memberships.map((membership) => this.glance([membership], nowMs, beat));
  }

  private async glance(
    memberships: readonly Membership[],
    nowMs: number,
    beat: Promise<void>,
  ): Promise<void> {
    const keys = memberships.flatMap(({ bucket }) => [bucket.keys.epoch, bucket.keys.version]);
    const reply = await this.options.client.call("MGET", ...keys).catch(() => undefined);
    const found = reply === undefined ? undefined : listOf(reply);
    await beat;
    for (const [at, membership] of memberships.entries()) {
      const [epoch, version] = found?.slice(2 * at, 2 * at + 2) ?? [];
      if (found === undefined) this.lookAt(membership);
      else if (!membership.glanced(epoch ?? "", version ?? "", nowMs, this.server))
        this.options.hurry(membership);
    }
  }
}

/** Returns the id of the process that is this member of a bucket. */
function processOf(member: string): string {
  return member.replace(INCARNATION, "");
}
