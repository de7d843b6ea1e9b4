import { FailureDetector } from "./failure-detector.ts";
import { quietMsOf } from "./quiet.ts";
import type { BucketView } from "./view.ts";

/** Returns when a member last beat for all its buckets, as far as this process watched it. */
type BeatAtMs = (member: string) => number | undefined;

export interface SilentMember {
  readonly process: string;
  readonly beat: string;
}

/** The other processes of a bucket: which are silent, and which must rejoin or time out before money moves. */
export class Peers {
  private readonly detector: FailureDetector;
  /** The other members in the last view. */
  private known = new Set<string>();
  /** Members that must rejoin, or be silent for a lease, before money moves. */
  private readonly awaited = new Set<string>();

  private readonly beatAtMs: BeatAtMs;
  private readonly quietMs: number;

  constructor(leaseMs: number, beatAtMs: BeatAtMs = () => undefined) {
    this.detector = new FailureDetector(leaseMs);
    this.quietMs = quietMsOf({ leaseMs });
    this.beatAtMs = beatAtMs;
  }

  get isAwaited(): boolean {
    return this.awaited.size > 0;
  }

  /** Awaits every known member, after a restart of Redis: each must confirm its data in this epoch. */
  awaitAll(): void {
    for (const process of this.known) this.awaited.add(process);
  }

  /** Awaits every known member in a new epoch, which none has joined yet. Their silence so far counts. */
  awaitAllElsewhere(): void {
    for (const process of this.known) {
      this.awaited.add(process);
      this.detector.rename(process, `awaited ${process}`);
    }
  }

  /**
   * Returns the members and joining processes that have been silent for a lease. The members of a settled bucket are
   * not listed, so one that then stops beating is silent since its last beat: `quietMs` of a lease at most, so that
   * this process sees the heartbeat of the bucket for longer than a member believes that its leases are in force.
   */
  silent(view: BucketView, self: string, nowMs: number): SilentMember[] {
    const listed = view.isListed ? view.members : [];
    const members = listed.map(({ process, beat }) => ({ process, beat }));
    const joining = [...view.joining].map(([process, beat]) => ({ process, beat }));
    return [...members, ...joining].filter(({ process, beat }) => {
      if (process === self) return false;
      const beatAtMs = this.beatAtMs(process) ?? nowMs;
      const sinceMs = Math.max(beatAtMs, nowMs - this.quietMs);
      return this.detector.isSilent(process, beat, nowMs, sinceMs);
    });
  }

  /**
   * Stops awaiting members that are back or have been silent for a lease. Returns true if one was given up as silent.
   */
  updateAwaited(view: BucketView, nowMs: number): boolean {
    let givenUp = false;
    const here = new Set(view.members.map((member) => member.process));
    for (const process of this.awaited) {
      const beat = view.joining.get(process) ?? "";
      const isHere = here.has(process);
      if (!isHere && !this.detector.isSilent(`awaited ${process}`, beat, nowMs)) continue;
      givenUp ||= !isHere;
      this.awaited.delete(process);
      this.known.delete(process);
      this.detector.forget(`awaited ${process}`);
    }
    return givenUp;
  }

  /** Forgets the heartbeat of a process whose leases were ended. */
  forget(process: string): void {
    this.detector.forget(process);
  }

  /** Forgets a silent member, so that it is not awaited in the next epoch. */
  giveUp(process: string): void {
    this.known.delete(process);
  }

  /** Stores the members of a view, so that they can be awaited after a loss of data. */
  rememberMembers(view: BucketView, self: string): void {
    this.known = new Set(
      view.members.map((member) => member.process).filter((process) => process !== self),
    );
  }
}
