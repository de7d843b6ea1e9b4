import { Worker } from "node:worker_threads";
import type { CountReply, CountRequest } from "./token-worker.ts";

const WAITING_MAX = 64;
/** One key may have at most this many of them, so that others get a turn. */
const WAITING_OF_KEY_MAX = 8;
const COUNT_TIMEOUT_MS = 10_000;
const IDLE_MS = 60_000;

export type Count =
  /** `model`: the name in the request, if it is a text. */
  | { readonly kind: "counted"; readonly tokens: number; readonly model: string | undefined }
  | { readonly kind: "invalid"; readonly problem: string; readonly param: string | null }
  /** The key has too many requests waiting. */
  | { readonly kind: "too_many" }
  | { readonly kind: "busy" };

interface Waiting {
  readonly body: Uint8Array;
  readonly resolve: (count: Count) => void;
}

/**
 * Counts tokens on a worker thread, one request at a time, keys in turn. The tokenizer takes about 80 MB, so the thread
 * starts with the first request and ends after a minute without one. A thread that takes over 10 s is replaced.
 */
export class TokenCounter {
  private worker: Worker | undefined = undefined;
  /** By id of the API key. The first entry is served next, then moves to the end. */
  private readonly queues = new Map<string, Waiting[]>();
  private waiting = 0;
  private running: Waiting | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private nextId = 1;

  /** Counts the tokens of a request by this key. Never rejects. */
  count(keyId: string, body: Uint8Array): Promise<Count> {
    const queue = this.queues.get(keyId) ?? [];
    if (queue.length >= WAITING_OF_KEY_MAX) return Promise.resolve({ kind: "too_many" });
    if (this.waiting >= WAITING_MAX) return Promise.resolve({ kind: "busy" });
    return new Promise((resolve) => {
      queue.push({ body, resolve });
      this.queues.set(keyId, queue);
      this.waiting++;
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
    const request: CountRequest = { id: this.nextId++, body: this.running.body };
    this.worker.postMessage(request);
    this.timer = setTimeout(() => {
      void this.endWorker({ kind: "busy" });
      this.next();
    }, COUNT_TIMEOUT_MS);
  }

  /** Takes the first request of the next key, and moves that key to the end. */
  private take(): Waiting | undefined {
    for (const [keyId, queue] of this.queues) {
      this.queues.delete(keyId);
      const waiting = queue.shift();
      if (!waiting) continue;
      if (queue.length > 0) this.queues.set(keyId, queue);
      this.waiting--;
      return waiting;
    }
    return undefined;
  }

  private startWorker(): Worker {
    const worker = new Worker(new URL("./token-worker.js", import.meta.url));
    worker.unref();
    worker.on("message", (reply: CountReply) => {
      if (worker === this.worker) this.answer(countOf(reply));
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

function countOf(reply: CountReply): Count {
  return "tokens" in reply
    ? { kind: "counted", tokens: reply.tokens, model: reply.model }
    : { kind: "invalid", problem: reply.problem, param: reply.param };
}
