import { Piscina } from "piscina";
import { yieldToMainThread } from "../process/thread-priority.ts";
import type { ThreadWork } from "./thread-work.ts";

/** Sent to a thread. */
export interface ThreadJob {
  /** An empty text if there is nothing to do. */
  module: string;
  readonly input: unknown;
  readonly bytes: Uint8Array;
}

/** Sent by a thread. `isTooMuch`: the work threw because the stack or a string was too large. */
export type ThreadReply =
  | { readonly result: unknown }
  | { readonly error: unknown; readonly isTooMuch: boolean };

yieldToMainThread();

/** Runs a job. Without one, the thread only starts. */
export default async function work(job: ThreadJob | undefined): Promise<object> {
  if (!job?.module) return { result: undefined } satisfies ThreadReply;
  const { buffer, byteOffset, byteLength } = job.bytes;
  try {
    const { default: run }: { default: ThreadWork<unknown, unknown> } = await import(job.module);
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    const { result, handed = [] } = await run(job.input, bytes);
    const reply: ThreadReply = { result };
    return Piscina.move({
      [Piscina.transferableSymbol]: handed,
      [Piscina.valueSymbol]: reply,
    } as never);
  } catch (error) {
    return { error, isTooMuch: error instanceof RangeError } satisfies ThreadReply;
  }
}
