import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import type { Log } from "../process/log.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { ThreadJob, ThreadReply } from "./thread.ts";
import type { Caller } from "./thread-work.ts";

const MB = 1_048_576;
const LIMITS = {
  /** A second thread starts when the first is busy. */
  threads: 2,
  /**
   * Heap of a thread. Beyond it, the thread ends. The bytes of a body are not part of it. 20 MB of Vietnamese take some
   * 150 MB.
   */
  heapMb: 256,
  /**
   * Time for one job, and for each MB of it besides: many times what honest bodies take on a busy machine. One of 1 MB took more
   * than 11 s on two cores with 19 processes that wanted them.
   */
  jobMs: 30_000,
  jobMsPerMb: 1_000,
  /** A thread without work ends after this time: an agent sends its next turn sooner. While one starts, the main thread reads. */
  idleMs: 60_000,
  /** Only one thread at a time works on a body from this size on: for its memory, and so that shorter ones pass it. */
  largeBytesMin: 2 * MB,
  /** Maximum bytes that wait for a thread, of all accounts and of one. A single body may always wait. */
  waitingBytesMax: 128 * MB,
  waitingBytesOfAccountMax: 32 * MB,
  /** A body counts as at least this many bytes, so that the number of those that wait is bounded too. */
  leastBytes: 0,
};

export type ThreadLimits = Readonly<typeof LIMITS>;

/**
 * Threads that work on long bodies, so that one body does not stop all other calls. A thread has bounded memory and
 * time. A body that exceeds them breaks its thread, and no other call: bodies wait here, and a thread gets one at a time.
 * Threads start with the first long body. They keep no process alive.
 */
export class BodyThreads {
  private readonly limits: ThreadLimits;
  private readonly pool: Piscina;
  private readonly queue: BodyQueue;
  private readonly running = new Set<Job>();
  /** Threads that have started. The pool's own events of their ends come for others too. */
  private readonly started = new WeakSet<Worker>();
  private isStopped = false;

  constructor(
    private readonly log: Log,
    limits: Partial<ThreadLimits> = {},
  ) {
    this.limits = { ...LIMITS, ...limits };
    this.queue = new BodyQueue(this.limits);
    const { threads, idleMs, heapMb } = this.limits;
    this.pool = new Piscina({
      filename: fileURLToPath(new URL("./thread.js", import.meta.url)),
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.pool.on("workerCreate", ({ id }: { readonly id: number }) => {
      for (const thread of this.pool.threads) if (thread.threadId === id) this.started.add(thread);
    });
    this.pool.on("error", (error) => {
      log.warn({ err: error }, "a thread for bodies ended");
      // Without a thread, the pool has its jobs until their time is over.
      if (!this.isReady) for (const job of this.running) job.end.abort(error);
    });
  }

  /**
   * Calls the default export of a module, a `ThreadWork`, in a thread. Input and result must be plain data. The bytes are
   * copied, unless they are lent: then the caller must not use them, and the work may hand them back in its result.
   * Resolves with the result, or a refusal: 413 if the body exceeds the memory or time of its thread, 429 or 503 if too many bytes wait,
   * 503 if no thread starts. Rejects if the work throws.
   */
  run<Result>(
    call: Caller,
    module: URL,
    input: unknown,
    bytes: Uint8Array,
    isLent = false,
  ): Promise<Result | Refusal> {
    const size = Math.max(bytes.length, this.limits.leastBytes);
    const refusal = this.refusalFor(call, size);
    if (refusal) return Promise.resolve(refusal);
    return new Promise((resolve, reject) => {
      const work = { module: module.href, input, bytes, isLent, size, end: new AbortController() };
      this.queue.add({ ...work, call, reject, resolve: resolve as Job["resolve"] });
      this.next();
    });
  }

  get waiting(): number {
    return this.queue.length;
  }

  /** True if a thread has started, whether it works or not. */
  get isReady(): boolean {
    return this.pool.threads.some((thread) => this.started.has(thread));
  }

  get threadCount(): number {
    return this.pool.threads.length;
  }

  /** Starts a thread if there is none, for bodies that come later. */
  warmUp(): void {
    // A body that needs a thread gets a 503 if none can start, which is logged.
    if (this.threadCount === 0) this.pool.run(undefined).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.queue.refuseAll(STOPPED);
    for (const job of this.running) job.resolve(STOPPED);
    // The pool's own `destroy` rejects jobs for which no thread could start, and nothing has their promises.
    await Promise.all(this.pool.threads.map((thread) => thread.terminate()));
  }

  private refusalFor(call: Caller, bytes: number): Refusal | undefined {
    if (this.isStopped) return STOPPED;
    // A body that a thread takes now does not wait, whatever waits for the thread of large bodies.
    const isFree = this.running.size < this.limits.threads;
    if (isFree && this.queue.mayRun(bytes, [...this.running])) return undefined;
    return this.queue.refusalFor(call, bytes);
  }

  private next(): void {
    while (this.running.size < this.limits.threads) {
      const job = this.queue.take([...this.running]);
      if (!job) return;
      this.running.add(job);
      void this.work(job);
    }
  }

  private async work(job: Job): Promise<void> {
    const { jobMs, jobMsPerMb } = this.limits;
    const timer = setTimeout(() => job.end.abort(TOO_LONG), jobMs + (job.size / MB) * jobMsPerMb);
    timer.unref();
    let sent: ThreadJob | undefined;
    try {
      sent = sentTo(job);
      const transferList = [sent.bytes.buffer as ArrayBuffer];
      const reply: ThreadReply = await this.pool.run(sent, {
        transferList,
        signal: job.end.signal,
      });
      if ("result" in reply) job.resolve(reply.result);
      else if (reply.isTooMuch) job.resolve(BROKEN);
      else job.reject(reply.error);
    } catch (error) {
      // If no thread could start, the pool still has the job, and nothing has its promise: it must do nothing.
      if (sent) sent.module = "";
      job.resolve(this.refusalAfter(error, job));
    }
    clearTimeout(timer);
    this.running.delete(job);
    this.next();
  }

  /** Returns the refusal of a body whose thread has ended, or could not start. */
  private refusalAfter(error: unknown, { call, size }: Job): Refusal {
    if (this.isStopped) return STOPPED;
    const { cause, code = "", message = "" } = error as NodeJS.ErrnoException;
    const isBroken =
      cause === TOO_LONG ||
      code === "ERR_WORKER_OUT_OF_MEMORY" ||
      message.startsWith("worker exited");
    const fields = { call_id: call.id, key_id: call.key?.id, bytes: size, err: error };
    if (isBroken) {
      this.log.warn(fields, "a body exceeded the memory or time of its thread; the call gets 413");
    } else this.log.warn(fields, "a long body found no thread; it gets 503");
    return isBroken ? BROKEN : BUSY;
  }
}

/**
 * Copies the bytes, unless they are lent: plugins may read the body of the call again. Shared memory would need no copy, but
 * V8 does not count it, so bodies would pile up before they are collected.
 */
function sentTo({ module, input, bytes, isLent }: Job): ThreadJob {
  const mayHand = isLent && bytes.byteLength === bytes.buffer.byteLength;
  return { module, input, bytes: mayHand ? bytes : new Uint8Array(bytes) };
}

const TOO_LONG = "the time of the job is over";
const BROKEN = refuse.tooLarge(
  "The request body takes more memory or time to read than the gateway gives to one call: send a shorter conversation.",
);
const STOPPED = refuse.unavailable("The gateway is shutting down.");

/** Large bodies leave a quarter of the bytes that may wait to shorter ones, which take turns on both threads. */
const LARGE_SHARE = 3 / 4;

interface Job extends ThreadJob {
  readonly call: Caller;
  /** The bytes that the body counts as, also while they are lent. */
  readonly size: number;
  /** The thread gets the bytes themselves, and its result has them. */
  readonly isLent: boolean;
  /** Ends the job early, with `TOO_LONG` or the error of the thread that could not start. */
  readonly end: AbortController;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * The account with the lowest turn is next, and each job that begins adds its bytes to that of its account, so accounts take
 * turns. A job that is dropped adds nothing.
 */
class BodyQueue {
  private waiting: Job[] = [];
  /** The turn of the latest job that has begun: no account is further behind. */
  private turn = 0;
  /** The turns of accounts that are ahead of it. */
  private readonly turns = new Map<string | undefined, number>();

  constructor(private readonly limits: ThreadLimits) {}

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
    const own = bytesOf(this.waiting.filter((job) => accountOf(job) === key?.accountId));
    return own > 0 && own + bytes > waitingBytesOfAccountMax ? BUSY_WITH_ACCOUNT : undefined;
  }

  add(job: Job): void {
    this.waiting.push(job);
  }

  /** Takes the next job that may begin. An account has a second thread only if no other one waits. */
  take(running: readonly Job[]): Job | undefined {
    this.dropGone();
    if (this.waiting.length + running.length === 0) this.turns.clear();
    const served = new Set(running.map(accountOf));
    const mayBegin = this.waiting.filter((job) => this.mayRun(job.size, running));
    const others = mayBegin.filter((job) => !served.has(accountOf(job)));
    // The first of the lowest turn: it has waited longest.
    const [first, ...rest] = others.length > 0 ? others : mayBegin;
    if (!first) return undefined;
    const taken = rest.reduce((a, b) => (this.turnOf(b) < this.turnOf(a) ? b : a), first);
    this.waiting = this.waiting.filter((job) => job !== taken);
    this.turn = this.turnOf(taken);
    this.turns.set(accountOf(taken), this.turn + taken.size);
    for (const [account, turn] of this.turns) if (turn <= this.turn) this.turns.delete(account);
    return taken;
  }

  private turnOf(job: Job): number {
    return Math.max(this.turn, this.turns.get(accountOf(job)) ?? 0);
  }

  /** Returns true if a body of this size may run beside others. */
  mayRun(bytes: number, running: readonly Job[]): boolean {
    const { largeBytesMin } = this.limits;
    return bytes < largeBytesMin || running.every((job) => job.size < largeBytesMin);
  }

  refuseAll(refusal: Refusal): void {
    for (const job of this.waiting) job.resolve(refusal);
    this.waiting = [];
  }

  /** Nothing is sent to a client that has left. */
  private dropGone(): void {
    const gone = this.waiting.filter((job) => job.call.gone);
    if (gone.length === 0) return;
    this.waiting = this.waiting.filter((job) => !job.call.gone);
    for (const job of gone) job.resolve(BUSY);
  }
}

function accountOf({ call }: Job): string | undefined {
  return call.key?.accountId;
}

function bytesOf(jobs: readonly Job[]): number {
  return jobs.reduce((sum, { size }) => sum + size, 0);
}

const BUSY = refuse.unavailable(
  "The gateway has as many requests waiting as it can take; try again shortly.",
);
const BUSY_WITH_ACCOUNT = refuse.rateLimited(
  "Too many requests of this account are waiting; send fewer at once.",
  { code: "rate_limit_exceeded", headers: ["retry-after", "1"] },
);
