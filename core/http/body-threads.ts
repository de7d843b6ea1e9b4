import { Worker } from "node:worker_threads";
import type { BodyThreads } from "../contract/body-threads.ts";
import type { Call } from "../contract/call.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import type { Log } from "../process/log.ts";
import type { ThreadJob, ThreadReply } from "./body-thread.ts";

export interface ThreadLimits {
  /** A second thread starts when the first is busy. */
  readonly threads: number;
  /** Only one thread at a time works on a body from this size on: for its memory, and so that shorter ones pass it. */
  readonly largeBytesMin: number;
  /**
   * Heap of a thread. Beyond it, the thread ends. The bytes of a body are not part of it. 20 MB of Vietnamese take some
   * 150 MB; 20 MB of tiny objects, as JSON in the arguments of calls, take more than the limit.
   */
  readonly heapMb: number;
  /** Time for one job: hundreds of times what 20 MB take. */
  readonly jobMs: number;
  /** Time for a thread to start, on a busy machine. */
  readonly startMs: number;
  /** A thread without work ends after this time, and sooner after a large body, whose memory it keeps. */
  readonly idleMs: number;
  readonly idleAfterLargeMs: number;
  /** Maximum bytes that wait for a thread, of all keys and of one. A single body may always wait. */
  readonly waitingBytesMax: number;
  readonly waitingBytesOfKeyMax: number;
}

const MB = 1_048_576;
const LIMITS: ThreadLimits = {
  threads: 2,
  largeBytesMin: 2 * MB,
  heapMb: 256,
  jobMs: 30_000,
  startMs: 120_000,
  idleMs: 60_000,
  idleAfterLargeMs: 1_000,
  waitingBytesMax: 128 * MB,
  waitingBytesOfKeyMax: 32 * MB,
};

type Caller = Pick<Call, "id" | "key" | "gone">;

interface Waiting extends ThreadJob {
  readonly call: Caller;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * The threads of one process. Bodies wait here and a thread gets one at a time, so a thread that breaks takes no other
 * body with it. Threads start with the first long body. They keep no process alive.
 */
export class OwnBodyThreads implements BodyThreads {
  private readonly log: Log;
  private readonly limits: ThreadLimits;
  private readonly threads = new Set<BodyThread>();
  private waiting: Waiting[] = [];
  private isStopped = false;

  constructor(log: Log, limits: Partial<ThreadLimits> = {}) {
    this.log = log;
    this.limits = { ...LIMITS, ...limits };
  }

  run<Result>(
    call: Caller,
    module: URL,
    input: unknown,
    bytes: Uint8Array,
  ): Promise<Result | Refusal> {
    const refusal = this.refusalFor(call, bytes.length);
    if (refusal) return Promise.resolve(refusal);
    return new Promise((resolve, reject) => {
      const settled = resolve as (result: unknown) => void;
      this.waiting.push({ call, module: module.href, input, bytes, resolve: settled, reject });
      this.next();
    });
  }

  /** Threads that have not ended. */
  get threadCount(): number {
    return this.threads.size;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const { resolve } of this.waiting) resolve(STOPPED);
    this.waiting = [];
    await Promise.all([...this.threads].map((thread) => thread.end(STOPPED)));
  }

  private refusalFor({ key }: Caller, bytes: number): Refusal | undefined {
    if (this.isStopped) return STOPPED;
    const { waitingBytesMax, waitingBytesOfKeyMax } = this.limits;
    const all = bytesOf(this.waiting);
    if (all > 0 && all + bytes > waitingBytesMax) return BUSY;
    const own = bytesOf(this.waiting.filter(({ call }) => call.key?.id === key?.id));
    return own > 0 && own + bytes > waitingBytesOfKeyMax ? BUSY_WITH_KEY : undefined;
  }

  private next(): void {
    for (;;) {
      const job = this.nextJob();
      const thread = job && ([...this.threads].find(({ isIdle }) => isIdle) ?? this.opened());
      if (!thread) return;
      this.waiting.splice(this.waiting.indexOf(job), 1);
      thread.begin(job);
    }
  }

  /** Returns the next job that may begin. A key has a second thread only if no other key waits. */
  private nextJob(): Waiting | undefined {
    this.waiting = this.waiting.filter((job) => {
      // Nothing is sent to a client that has left.
      if (job.call.gone) job.resolve(BUSY);
      return !job.call.gone;
    });
    const running = [...this.threads].flatMap(({ job }) => job ?? []);
    const isLarge = ({ bytes }: Waiting) => bytes.length >= this.limits.largeBytesMin;
    const mayBegin = running.some(isLarge)
      ? this.waiting.filter((job) => !isLarge(job))
      : this.waiting;
    const served = new Set(running.map(({ call }) => call.key?.id));
    return mayBegin.find(({ call }) => !served.has(call.key?.id)) ?? mayBegin[0];
  }

  private opened(): BodyThread | undefined {
    if (this.isStopped || this.threads.size >= this.limits.threads) return undefined;
    const thread = new BodyThread(
      this.limits,
      () => this.next(),
      () => {
        this.threads.delete(thread);
        this.next();
      },
      ({ call, bytes }, reason) =>
        this.log.warn(
          { call_id: call.id, key_id: call.key?.id, bytes: bytes.length, reason },
          "a body broke the thread that worked on it; its call gets 413",
        ),
    );
    this.threads.add(thread);
    return thread;
  }
}

function bytesOf(jobs: readonly Waiting[]): number {
  return jobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** One thread, and the job that it does. */
class BodyThread {
  private readonly limits: ThreadLimits;
  private readonly onIdle: () => void;
  private readonly onEnd: () => void;
  private readonly onBroken: (job: Waiting, reason: string) => void;
  private readonly worker: Worker;
  /** The work that the thread does; undefined if it waits for some. */
  job: Waiting | undefined = undefined;
  private isReady = false;
  private hasEnded = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    limits: ThreadLimits,
    onIdle: () => void,
    onEnd: () => void,
    onBroken: (job: Waiting, reason: string) => void,
  ) {
    this.onBroken = onBroken;
    this.limits = limits;
    this.onIdle = onIdle;
    this.onEnd = onEnd;
    this.worker = new Worker(new URL("./body-thread.js", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    });
    this.worker.unref();
    this.worker.on("message", (reply: ThreadReply) => this.replied(reply));
    // Out of memory. A thread that cannot even start says nothing about its body.
    this.worker.on("error", () => this.failed("memory"));
  }

  get isIdle(): boolean {
    return this.job === undefined && !this.hasEnded;
  }

  begin(job: Waiting): void {
    this.job = job;
    const { module, input } = job;
    // A copy: plugins may read the body of the call again. Shared memory would need none, but V8 does not count it, so
    // bodies would pile up before they are collected.
    const bytes = new Uint8Array(job.bytes);
    this.worker.postMessage({ module, input, bytes } satisfies ThreadJob, [bytes.buffer]);
    this.worker.ref();
    this.limit(this.isReady ? this.limits.jobMs : this.limits.startMs);
  }

  /** Ends the thread. Its job gets `refusal`. */
  async end(refusal: Refusal): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.timer);
    const { job } = this;
    this.job = undefined;
    job?.resolve(refusal);
    // The next thread starts once the memory of this one is free.
    await this.worker.terminate();
    this.onEnd();
  }

  private replied(reply: ThreadReply): void {
    if (this.hasEnded) return;
    if (reply === "ready") {
      this.isReady = true;
      if (this.job) this.limit(this.limits.jobMs);
      return;
    }
    const { job } = this;
    this.job = undefined;
    this.worker.unref();
    const { idleMs, idleAfterLargeMs, largeBytesMin } = this.limits;
    const wasLarge = (job?.bytes.length ?? 0) >= largeBytesMin;
    this.limit(wasLarge ? idleAfterLargeMs : idleMs);
    this.onIdle();
    if ("result" in reply) job?.resolve(reply.result);
    else if (reply.isTooMuch) job?.resolve(BROKEN);
    else job?.reject(reply.error);
  }

  private limit(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.failed("time"), ms);
    this.timer.unref();
  }

  private failed(reason: string): void {
    if (this.job && this.isReady && !this.hasEnded) this.onBroken(this.job, reason);
    void this.end(this.isReady ? BROKEN : BUSY);
  }
}

const BROKEN = refuse.tooLarge(
  "The request body takes more memory or time to read than the gateway gives to one call: send a shorter conversation.",
);
const BUSY = refuse.unavailable(
  "The gateway has as many long requests waiting as it can take; try again shortly.",
);
const BUSY_WITH_KEY = refuse.rateLimited(
  "Too many long requests with this key are waiting; send fewer at once.",
  { headers: ["retry-after", "1"] },
);
const STOPPED = refuse.unavailable("The gateway is shutting down.");
