import { Worker } from "node:worker_threads";
import type { CountReply, CountRequest } from "./token-worker.ts";

const WAITING_MAX = 64;
const COUNT_TIMEOUT_MS = 10_000;
const IDLE_MS = 60_000;

export type Count =
  | { readonly kind: "counted"; readonly tokens: number }
  | { readonly kind: "invalid"; readonly problem: string; readonly param: string | null }
  | { readonly kind: "busy" };

interface Waiting {
  readonly body: Uint8Array;
  readonly resolve: (count: Count) => void;
}

/**
 * Counts tokens on a worker thread, one request at a time. The tokenizer takes some 80 MB, so the thread is
 * started by the first request and ended after a minute without one; one that takes too long is replaced.
 */
export class TokenCounter {
  private worker: Worker | undefined = undefined;
  private readonly queue: Waiting[] = [];
  private running: Waiting | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private nextId = 1;

  count(body: Uint8Array): Promise<Count> {
    if (this.queue.length >= WAITING_MAX) return Promise.resolve({ kind: "busy" });
    return new Promise((resolve) => {
      this.queue.push({ body, resolve });
      this.next();
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    for (const waiting of this.queue.splice(0)) waiting.resolve({ kind: "busy" });
    await this.endWorker({ kind: "busy" });
  }

  private next(): void {
    if (this.running) return;
    clearTimeout(this.timer);
    this.running = this.queue.shift();
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
    ? { kind: "counted", tokens: reply.tokens }
    : { kind: "invalid", problem: reply.problem, param: reply.param };
}
