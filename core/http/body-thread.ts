import { parentPort } from "node:worker_threads";
import type { ThreadWork } from "../plugin/body-threads.ts";
import { yieldToMainThread } from "../process/thread-priority.ts";
import { ownThread, threadTimeMs } from "./thread-time.ts";

/** Sent to a thread. */
export interface ThreadJob {
  readonly module: string;
  readonly input: unknown;
  readonly bytes: Uint8Array;
}

/**
 * Sent by a thread. `timeMs`: its processor time until now, so that the main thread need not look it up before each job;
 * undefined if not known.
 */
export type ThreadReply = { readonly timeMs: number | undefined } & (
  | {
      /** It takes jobs. For `threadTimeMs`. */ readonly ready: true;
      readonly thread: string | undefined;
    }
  | { readonly result: unknown }
  /** The work threw this. `isTooMuch`: the stack or a string was too large. */
  | { readonly error: unknown; readonly isTooMuch: boolean }
);

const own = ownThread();

async function work({ module, input, bytes }: ThreadJob): Promise<void> {
  try {
    const { default: run }: { default: ThreadWork<unknown, unknown> } = await import(module);
    const { buffer, byteOffset, byteLength } = bytes;
    const lent = Buffer.from(buffer, byteOffset, byteLength);
    const { result, handed = [] } = await run(input, lent);
    const timeMs = threadTimeMs(own);
    parentPort?.postMessage({ result, timeMs } satisfies ThreadReply, [...handed]);
  } catch (error) {
    const isTooMuch = error instanceof RangeError;
    const reply: ThreadReply = { error, isTooMuch, timeMs: threadTimeMs(own) };
    parentPort?.postMessage(reply);
  }
}

yieldToMainThread();

parentPort?.on("message", (job: ThreadJob) => void work(job));
const started: ThreadReply = { ready: true, thread: own, timeMs: threadTimeMs(own) };
parentPort?.postMessage(started);
