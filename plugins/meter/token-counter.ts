import { Worker } from "node:worker_threads";
import type { CountReply } from "./token-worker.ts";
import type { CountedInput } from "./tokenize.ts";

const WAITING_MAX = 256;
/** Maximum number of waiting requests of one key. Claude Code sends 12 at once for `/context`, in each of its sessions. */
const WAITING_OF_KEY_MAX = 64;
/** Maximum bytes of waiting bodies, of all keys and of one. A single body of any size may wait. */
const WAITING_BYTES_MAX = 64 * 1_048_576;
const WAITING_BYTES_OF_KEY_MAX = WAITING_BYTES_MAX / 4;
/** The key that had the fewest bytes counted in this time is served next. */
const WINDOW_MS = 60_000;
/** Heap limit of the thread. Beyond it, the thread ends and its request gets 503; the process goes on. */
const THREAD_HEAP_MB = 768;
/** Bytes that count for each request in addition to its own: even the shortest costs some time. */
const REQUEST_BYTES = 1_024;
/** 10 MB take a second; on a busy machine they took more than 10. */
const COUNT_TIMEOUT_MS = 30_000;
/** Time for the thread to load the tokenizer: a second, but many on a busy machine. */
const START_TIMEOUT_MS = 120_000;
const IDLE_MS = 60_000;

export type Count =
  /** `model`: the name in the request, if it is a string. */
  | { readonly kind: "counted"; readonly input: CountedInput; readonly model: string | undefined }
  | { readonly kind: "invalid"; readonly problem: string; readonly param: string | null }
  /** The key has too many requests waiting, or too many bytes. */
  | { readonly kind: "too_many" }
  | { readonly kind: "busy" };

interface Waiting {
  readonly body: Uint8Array;
  readonly resolve: (count: Count) => void;
}

interface Queue {
  readonly waiting: Waiting[];
  bytes: number;
}

/**
 * Counts tokens on a worker thread, one request at a time, for the key with the least work done. The tokenizer takes about 80 MB, so the thread
 * starts with the first request and ends after a minute without one. A thread that counts for over 30 s is replaced.
 */
export class TokenCounter {
  private worker: Worker | undefined = undefined;
  /** True once the thread has loaded the tokenizer. */
  private isReady = false;
  /** Waiting requests by id of the API key. */
  private readonly queues = new Map<string, Queue>();
  private waiting = 0;
  private waitingBytes = 0;
  /** Bytes counted for each key in the current window. */
  private readonly counted = new Map<string, number>();
  private windowEndMs = 0;
  private running: Waiting | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;

  /** Counts the tokens of a request by this key, and takes its body over. Never rejects. */
  count(keyId: string, body: Uint8Array): Promise<Count> {
    const bytes = body.length;
    const queue = this.queues.get(keyId) ?? { waiting: [], bytes: 0 };
    const { length } = queue.waiting;
    if (length >= WAITING_OF_KEY_MAX || exceeds(queue.bytes, bytes, WAITING_BYTES_OF_KEY_MAX)) {
      return Promise.resolve({ kind: "too_many" });
    }
    if (this.waiting >= WAITING_MAX || exceeds(this.waitingBytes, bytes, WAITING_BYTES_MAX)) {
      return Promise.resolve({ kind: "busy" });
    }
    return new Promise((resolve) => {
      queue.waiting.push({ body, resolve });
      queue.bytes += bytes;
      this.queues.set(keyId, queue);
      this.waiting++;
      this.waitingBytes += bytes;
      this.next();
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    for (let waiting = this.take(); waiting; waiting = this.take()) {
      waiting.resolve({ kind: "busy" });
    }
    await this.endWorker({ kind: "busy" });
  }

  private next(): void {
    if (this.running) return;
    clearTimeout(this.timer);
    this.running = this.take();
    if (!this.running) {
      this.timer = setTimeout(() => void this.endWorker({ kind: "busy" }), IDLE_MS);
      this.timer.unref();
      return;
    }
    this.worker ??= this.startWorker();
    const { body } = this.running;
    this.worker.postMessage(body, ownBuffersOf(body));
    this.limit(this.isReady ? COUNT_TIMEOUT_MS : START_TIMEOUT_MS);
  }

  /** Replaces the thread if it does not reply within `ms`. */
  private limit(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      void this.endWorker({ kind: "busy" });
      this.next();
    }, ms);
  }

  /**
   * Takes the first request of the key that had the fewest bytes counted. If two keys are equal, takes the one that has
   * waited longer.
   */
  private take(): Waiting | undefined {
    const keyId = this.nextKey();
    const queue = keyId === undefined ? undefined : this.queues.get(keyId);
    const waiting = queue?.waiting.shift();
    if (keyId === undefined || !queue || !waiting) return undefined;
    this.queues.delete(keyId);
    if (queue.waiting.length > 0) this.queues.set(keyId, queue);
    const bytes = waiting.body.length;
    queue.bytes -= bytes;
    this.waiting--;
    this.waitingBytes -= bytes;
    this.counted.set(keyId, (this.counted.get(keyId) ?? 0) + bytes + REQUEST_BYTES);
    return waiting;
  }

  private nextKey(): string | undefined {
    const nowMs = performance.now();
    if (nowMs >= this.windowEndMs) {
      this.counted.clear();
      this.windowEndMs = nowMs + WINDOW_MS;
    }
    let [next, fewest]: [string | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const keyId of this.queues.keys()) {
      const bytes = this.counted.get(keyId) ?? 0;
      if (bytes < fewest) [next, fewest] = [keyId, bytes];
    }
    return next;
  }

  private startWorker(): Worker {
    this.isReady = false;
    const worker = new Worker(new URL("./token-worker.js", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
    });
    worker.unref();
    worker.on("message", (reply: CountReply | "ready") => {
      if (worker !== this.worker) return;
      if (reply !== "ready") return this.answer(countOf(reply));
      this.isReady = true;
      this.limit(COUNT_TIMEOUT_MS);
    });
    worker.on("error", () => {
      if (worker !== this.worker) return;
      this.worker = undefined;
      this.answer({ kind: "busy" });
    });
    return worker;
  }

  private answer(count: Count): void {
    const { running } = this;
    this.running = undefined;
    running?.resolve(count);
    this.next();
  }

  private async endWorker(answer: Count): Promise<void> {
    const { worker, running } = this;
    this.worker = undefined;
    this.running = undefined;
    running?.resolve(answer);
    await worker?.terminate();
  }
}

/** Returns true if `more` bytes exceed the limit. A single body of any size passes. */
function exceeds(bytes: number, more: number, bytesMax: number): boolean {
  return bytes > 0 && bytes + more > bytesMax;
}

/**
 * Returns the memory of a body, to hand it over without a copy; an empty list if the body shares its memory with
 * others.
 */
function ownBuffersOf({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

function countOf(reply: CountReply): Count {
  return "input" in reply
    ? { kind: "counted", input: reply.input, model: reply.model }
    : { kind: "invalid", problem: reply.problem, param: reply.param };
}
