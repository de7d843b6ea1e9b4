import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import type { ThreadWork } from "../contract/body-threads.ts";
import { ownThread } from "./thread-time.ts";

/** Sent to a thread. */
export interface ThreadJob {
  readonly module: string;
  readonly input: unknown;
  readonly bytes: Uint8Array;
}

/** Sent by a thread. `ready`: it takes jobs; `thread` is for `threadTimeMs`. */
export type ThreadReply =
  | { readonly ready: true; readonly thread: string | undefined }
  | { readonly result: unknown }
  /** The work threw this. `isTooMuch`: the stack or a string was too large. */
  | { readonly error: unknown; readonly isTooMuch: boolean };

/** A third of the main thread's share of a busy core. */
const NICENESS = 5;

async function work({ module, input, bytes }: ThreadJob): Promise<void> {
  try {
    const { default: run }: { default: ThreadWork<unknown, unknown> } = await import(module);
    const { buffer, byteOffset, byteLength } = bytes;
    const own = Buffer.from(buffer, byteOffset, byteLength);
    const { result, handed = [] } = await run(input, own);
    parentPort?.postMessage({ result } satisfies ThreadReply, [...handed]);
  } catch (error) {
    const reply: ThreadReply = { error, isTooMuch: error instanceof RangeError };
    parentPort?.postMessage(reply);
  }
}

// Other calls go first if there are fewer cores than threads. Linux alone has priorities of single threads.
if (process.platform === "linux") setPriority(NICENESS);

parentPort?.on("message", (job: ThreadJob) => void work(job));
parentPort?.postMessage({ ready: true, thread: ownThread() } satisfies ThreadReply);
