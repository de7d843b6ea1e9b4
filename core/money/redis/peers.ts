import { FailureDetector } from "./failure-detector.ts";
import type { BucketView } from "./view.ts";

export interface SilentMember {
  readonly process: string;
  readonly beat: string;
}

/** The other processes of a bucket: which of them are silent, and for which money waits. */
export class Peers {
  private readonly detector: FailureDetector;
  /** The other members as last seen. */
  private known = new Set<string>();
  /** Those among them that must show up again, or be silent for a lease, before money moves. */
  private readonly awaited = new Set<string>();

  constructor(leaseMs: number) {
    this.detector = new FailureDetector(leaseMs);
  }

  get isAwaited(): boolean {
    return this.awaited.size > 0;
  }

  /** Redis has restarted: every known member must show up in this epoch again. */
  awaitAll(): void {
    for (const process of this.known) this.awaited.add(process);
  }

  /** As `awaitAll`, in another epoch: members are not there yet, and their silence so far counts. */
  awaitAllElsewhere(): void {
    for (const process of this.known) {
      this.awaited.add(process);
      this.detector.rename(process, `awaited ${process}`);
    }
  }

  /** Those among all who show themselves that have been silent for the length of a lease. */
  silent(view: BucketView, self: string, nowMs: number): SilentMember[] {
    const members = view.members.map(({ process, beat }) => ({ process, beat }));
    const joining = [...view.joining].map(([process, beat]) => ({ process, beat }));
    return [...members, ...joining].filter(
      ({ process, beat }) => process !== self && this.detector.isSilent(process, beat, nowMs),
    );
  }

  /** Awaits no longer who is here again, and who has been silent for long enough. True if one of these was given up. */
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

  /** The leases of a silent process have ended, or are about to. */
  forget(process: string): void {
    this.detector.forget(process);
  }

  /** A silent process is awaited no more when the bucket goes on in another epoch. */
  giveUp(process: string): void {
    this.known.delete(process);
  }

  /** Notes the members of a view, for the day when they are gone. */
  rememberMembers(view: BucketView, self: string): void {
    this.known = new Set(
      view.members.map((member) => member.process).filter((process) => process !== self),
    );
  }
}
