import { type Refusal, refuse } from "../wire/refusal.ts";
import type { ThreadJob } from "./thread.ts";
import type { Caller } from "./thread-work.ts";

export interface QueueLimits {
  /** Only one thread at a time works on a body from this size on: for its memory, and so that shorter ones pass it. */
  readonly largeBytesMin: number;
  /** Maximum bytes that wait for a thread, of all accounts and of one. A single body may always wait. */
  readonly waitingBytesMax: number;
  readonly waitingBytesOfAccountMax: number;
}

/** Large bodies leave a quarter of the bytes that may wait to shorter ones, which take turns on both threads. */
const LARGE_SHARE = 3 / 4;

export interface Job extends ThreadJob {
  readonly call: Caller;
  /** Bytes of the body, also while they are lent. */
  readonly size: number;
  /** The thread gets the bytes themselves, and its result has them. */
  readonly isLent: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Waiting {
  readonly job: Job;
  /** The lowest begins first. Jobs of one account have different ones, so accounts take turns. */
  readonly turn: number;
}

/** The long bodies that wait for a thread. */
export class BodyQueue {
  private readonly limits: QueueLimits;
  private waiting: Waiting[] = [];
  /** The turn of the latest job that began. */
  private turn = 0;

  constructor(limits: QueueLimits) {
    this.limits = limits;
  }

  get length(): number {
    return this.waiting.length;
  }

  /** Returns the refusal of a body for which too many bytes wait. */
  refusalFor({ key }: Caller, bytes: number): Refusal | undefined {
    this.dropGone();
    const { largeBytesMin, waitingBytesMax, waitingBytesOfAccountMax } = this.limits;
    const all = bytesOf(this.waiting);
    const share = bytes >= largeBytesMin ? LARGE_SHARE : 1;
    if (all > 0 && all + bytes > waitingBytesMax * share) return BUSY;
    const own = bytesOf(this.waiting.filter(({ job }) => accountOf(job) === key?.accountId));
    return own > 0 && own + bytes > waitingBytesOfAccountMax ? BUSY_WITH_ACCOUNT : undefined;
  }

  add(job: Job): void {
    const own = this.waiting.filter((other) => accountOf(other.job) === accountOf(job));
    const last = own.at(-1)?.turn ?? -1;
    this.waiting.push({ job, turn: Math.max(this.turn, last + 1) });
  }

  /** Returns the next job that may begin. An account has a second thread only if no other one waits. */
  next(running: readonly Job[]): Job | undefined {
    this.dropGone();
    const served = new Set(running.map(accountOf));
    const mayBegin = this.waiting.filter(({ job }) => this.mayRun(job.size, running));
    const others = mayBegin.filter(({ job }) => !served.has(accountOf(job)));
    // The first of the lowest turn: it has waited longest.
    const [first, ...rest] = others.length > 0 ? others : mayBegin;
    return first && rest.reduce((best, one) => (one.turn < best.turn ? one : best), first).job;
  }

  /** Returns true if a body of this size may run beside others. */
  mayRun(bytes: number, running: readonly Job[]): boolean {
    const { largeBytesMin } = this.limits;
    return bytes < largeBytesMin || running.every((job) => job.size < largeBytesMin);
  }

  /** Takes out a job, if it still waits. */
  take(job: Job): void {
    const taken = this.waiting.find((waiting) => waiting.job === job);
    this.waiting = this.waiting.filter((waiting) => waiting !== taken);
    // The next job of its account comes after those of accounts that wait by then.
    if (taken) this.turn = Math.max(this.turn, taken.turn);
  }

  /** Empties the queue with a refusal. */
  refuseAll(refusal: Refusal): void {
    for (const { job } of this.waiting) job.resolve(refusal);
    this.waiting = [];
  }

  /** Nothing is sent to a client that has left. */
  private dropGone(): void {
    const gone = this.waiting.filter(({ job }) => job.call.gone);
    if (gone.length === 0) return;
    this.waiting = this.waiting.filter(({ job }) => !job.call.gone);
    for (const { job } of gone) job.resolve(BUSY);
  }
}

function accountOf({ call }: Job): string | undefined {
  return call.key?.accountId;
}

function bytesOf(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { job }) => sum + job.size, 0);
}

export const BUSY = refuse.unavailable(
  "The gateway has as many long requests waiting as it can take; try again shortly.",
);
const BUSY_WITH_ACCOUNT = refuse.rateLimited(
  "Too many long requests of this account are waiting; send fewer at once.",
  { headers: ["retry-after", "1"] },
);
