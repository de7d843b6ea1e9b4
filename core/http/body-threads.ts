import { Worker } from "node:worker_threads";
import type { BodyThreads } from "../plugin/body-threads.ts";
import type { Log } from "../process/log.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import { BodyQueue, BUSY, type Caller, type Job, type QueueLimits } from "./body-queue.ts";
import type { ThreadJob, ThreadReply } from "./body-thread.ts";
import { threadTimeMs } from "./thread-time.ts";

export interface ThreadLimits extends QueueLimits {
  /** A second thread starts when the first is busy. */
  readonly threads: number;
  /**
   * Heap of a thread. Beyond it, the thread ends. The bytes of a body are not part of it. 20 MB of Vietnamese take some
   * 150 MB.
   */
  readonly heapMb: number;
  /**
   * Processor time for one job, and for each MB of it besides: some twenty times what 20 MB of honest code and tools
   * take. It does not pass while the thread waits for a processor.
   */
  readonly jobCpuMs: number;
  readonly jobCpuMsPerMb: number;
  /** Time for one job on the clock. On Linux it is over only if the processor is far too busy. */
  readonly jobMs: number;
  /** Time for a thread to start, on a busy machine. */
  readonly startMs: number;
  /** A thread without work ends after this time, and sooner after a large body, whose memory it keeps. */
  readonly idleMs: number;
  readonly idleAfterLargeMs: number;
}

const MB = 1_048_576;
const LIMITS: ThreadLimits = {
  threads: 2,
  largeBytesMin: 2 * MB,
  heapMb: 256,
  jobCpuMs: 3_000,
  jobCpuMsPerMb: 250,
  jobMs: 60_000,
  startMs: 120_000,
  idleMs: 60_000,
  idleAfterLargeMs: 1_000,
  waitingBytesMax: 128 * MB,
  waitingBytesOfAccountMax: 32 * MB,
};

/**
 * The threads of one process. Bodies wait here and a thread gets one at a time, so a thread that breaks takes no other
 * body with it. Threads start with the first long body. They keep no process alive.
 */
export class OwnBodyThreads implements BodyThreads {
  private readonly log: Log;
  private readonly limits: ThreadLimits;
  private readonly threads = new Set<BodyThread>();
  private readonly queue: BodyQueue;
  private isStopped = false;

  constructor(log: Log, limits: Partial<ThreadLimits> = {}) {
    this.log = log;
    this.limits = { ...LIMITS, ...limits };
    this.queue = new BodyQueue(this.limits);
  }

  run<Result>(
    call: Caller,
    module: URL,
    input: unknown,
    bytes: Uint8Array,
    isLent = false,
  ): Promise<Result | Refusal> {
    const size = bytes.length;
    const refusal = this.refusalFor(call, size);
    if (refusal) return Promise.resolve(refusal);
    return new Promise((resolve, reject) => {
      const work = { module: module.href, input, bytes, isLent, size };
      this.queue.add({ ...work, call, reject, resolve: resolve as Job["resolve"] });
      this.next();
    });
  }

  get waiting(): number {
    return this.queue.length;
  }

  /** True if a thread has started, whether it works or not. */
  get isReady(): boolean {
    return [...this.threads].some(({ isReady }) => isReady);
  }

  /** Starts a thread if there is none, for bodies that come later. Throws if there is no memory for one. */
  warmUp(): void {
    if (this.threads.size === 0) this.opened();
  }

  /** Threads that have not ended. */
  get threadCount(): number {
    return this.threads.size;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.queue.refuseAll(STOPPED);
    await Promise.all([...this.threads].map((thread) => thread.end(STOPPED)));
  }

  private refusalFor(call: Caller, bytes: number): Refusal | undefined {
    if (this.isStopped) return STOPPED;
    // A body that a thread takes now does not wait, whatever waits for the thread of large bodies.
    const isFree = this.threads.size < this.limits.threads || this.idle !== undefined;
    if (isFree && this.queue.mayRun(bytes, this.running)) return undefined;
    return this.queue.refusalFor(call, bytes);
  }

  private get running(): readonly Job[] {
    return [...this.threads].flatMap(({ job }) => job ?? []);
  }

  private get idle(): BodyThread | undefined {
    return [...this.threads].find(({ isIdle }) => isIdle);
  }

  private next(): void {
    for (;;) {
      const job = this.queue.next(this.running);
      if (!job) return;
      try {
        const thread = this.idle ?? this.openedOrNone();
        if (!thread) return;
        this.queue.take(job);
        thread.begin(job);
      } catch (error) {
        // No memory for a thread, or for the copy of the body.
        this.queue.take(job);
        this.log.warn(
          { call_id: job.call.id, err: error },
          "a long body found no thread; it gets 503",
        );
        job.resolve(BUSY);
      }
    }
  }

  /** As `opened`. A body for which no second thread can start waits for the first. */
  private openedOrNone(): BodyThread | undefined {
    try {
      return this.opened();
    } catch (error) {
      if (this.threads.size === 0) throw error;
      return undefined;
    }
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
      ({ call, size }, reason) =>
        this.log.warn(
          { call_id: call.id, key_id: call.key?.id, bytes: size, reason },
          "parsing a body exceeded the memory or time of its thread; the call gets 413",
        ),
    );
    this.threads.add(thread);
    return thread;
  }
}

/** One thread, and the job that it does. */
class BodyThread {
  private readonly limits: ThreadLimits;
  private readonly onIdle: () => void;
  private readonly onEnd: () => void;
  private readonly onBroken: (job: Job, reason: string) => void;
  private readonly worker: Worker;
  /** The work that the thread does; undefined if it waits for some. */
  job: Job | undefined = undefined;
  isReady = false;
  private thread: string | undefined = undefined;
  /** Its processor time when it last took or ended a job. */
  private timeMs: number | undefined = undefined;
  private hasEnded = false;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    limits: ThreadLimits,
    onIdle: () => void,
    onEnd: () => void,
    onBroken: (job: Job, reason: string) => void,
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
    this.worker.on("messageerror", () => this.failed("message"));
    this.worker.on("exit", () => this.failed("exit"));
    this.limit(limits.startMs);
  }

  get isIdle(): boolean {
    return this.job === undefined && !this.hasEnded;
  }

  begin(job: Job): void {
    const { module, input } = job;
    // A copy: plugins may read the body of the call again. Shared memory would need none, but V8 does not count it, so
    // bodies would pile up before they are collected.
    const isLent = job.isLent && job.bytes.byteLength === job.bytes.buffer.byteLength;
    const bytes = isLent ? job.bytes : new Uint8Array(job.bytes);
    this.worker.postMessage({ module, input, bytes } satisfies ThreadJob, [
      bytes.buffer as ArrayBuffer,
    ]);
    this.job = job;
    this.worker.ref();
    if (this.isReady) this.limitJob(job);
    else this.limit(this.limits.startMs);
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
    this.timeMs = reply.timeMs;
    if ("ready" in reply) {
      this.isReady = true;
      this.thread = reply.thread;
      if (this.job) this.limitJob(this.job);
      else this.limit(this.limits.idleMs);
      return;
    }
    const { job } = this;
    this.job = undefined;
    this.worker.unref();
    const { idleMs, idleAfterLargeMs, largeBytesMin } = this.limits;
    const wasLarge = (job?.size ?? 0) >= largeBytesMin;
    this.limit(wasLarge ? idleAfterLargeMs : idleMs);
    if ("result" in reply) job?.resolve(reply.result);
    else if (reply.isTooMuch) job?.resolve(BROKEN);
    else job?.reject(reply.error);
    this.onIdle();
  }

  /** Ends the thread unless the job ends before its time is over. */
  private limitJob({ size }: Job): void {
    const { jobMs, jobCpuMs, jobCpuMsPerMb } = this.limits;
    const cpuMs = jobCpuMs + (size / MB) * jobCpuMsPerMb;
    const began = performance.now();
    const before = this.timeMs;
    const check = () => {
      const leftMs = jobMs - (performance.now() - began);
      const now = threadTimeMs(this.thread);
      const isKnown = before !== undefined && now !== undefined;
      const cpuLeftMs = isKnown ? cpuMs - (now - before) : leftMs;
      if (leftMs <= 0) this.failed("time");
      else if (cpuLeftMs <= 0) this.failed("processor time");
      // The processor time cannot be over sooner.
      else this.limit(Math.min(leftMs, cpuLeftMs), check);
    };
    this.limit(before === undefined ? jobMs : Math.min(jobMs, cpuMs), check);
  }

  private limit(ms: number, then = () => this.failed("time")): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(then, ms);
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
const STOPPED = refuse.unavailable("The gateway is shutting down.");
