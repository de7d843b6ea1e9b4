import { parentPort } from "node:worker_threads";
import {
  arrayOf,
  excessOf,
  objectOf,
  parseJson,
  yieldToMainThread,
} from "../../core/contract/index.ts";
import { type CountedInput, countedInput } from "./tokenize.ts";

/** Sent to the worker: the body of a request. */
export interface CountRequest {
  readonly id: number;
  readonly body: Uint8Array;
}

/** Sent by the worker: the count, or why there is none. */
export type CountReply =
  | { readonly id: number; readonly input: CountedInput; readonly model: string | undefined }
  | { readonly id: number; readonly problem: string; readonly param: string | null };

yieldToMainThread();
parentPort?.on("message", ({ id, body }: CountRequest) => parentPort?.postMessage(count(id, body)));
// The tokenizer is loaded: the time of a count begins.
parentPort?.postMessage("ready");

const PROBLEMS = {
  levels: "The request body is nested too deeply.",
  values: "The request body has too many values.",
} as const;

function count(id: number, bytes: Uint8Array): CountReply {
  const { buffer, byteOffset, byteLength } = bytes;
  const text = Buffer.from(buffer, byteOffset, byteLength);
  const excess = excessOf(text);
  if (excess) return { id, problem: PROBLEMS[excess], param: null };
  const body = objectOf(parseJson(text.toString("utf8")));
  if (!body) return { id, problem: "The request body must be a JSON object.", param: null };
  if (arrayOf(body["messages"]).length === 0) {
    return {
      id,
      problem: "messages: a list with at least one item is required",
      param: "messages",
    };
  }
  try {
    const { model } = body;
    const name = typeof model === "string" ? model : undefined;
    return { id, input: countedInput(body), model: name };
  } catch {
    return { id, problem: PROBLEMS.levels, param: null };
  }
}
