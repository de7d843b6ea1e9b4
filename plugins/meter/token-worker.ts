import { parentPort } from "node:worker_threads";
import {
  arrayOf,
  excessOf,
  objectOf,
  parseJson,
  yieldToMainThread,
} from "../../core/plugin/index.ts";
import { type CountedInput, countedInput } from "./tokenize.ts";

/** Sent by the worker: the count, or why there is none. */
export type CountReply =
  | { readonly input: CountedInput; readonly model: string | undefined }
  | { readonly problem: string; readonly param: string | null };

yieldToMainThread();
// Receives the body of each request.
parentPort?.on("message", (body: Uint8Array) => parentPort?.postMessage(count(body)));
// The tokenizer is loaded: the time of a count begins.
parentPort?.postMessage("ready");

const PROBLEMS = {
  levels: "The request body is nested too deeply.",
  values: "The request body has too many values.",
} as const;

function count(bytes: Uint8Array): CountReply {
  const { buffer, byteOffset, byteLength } = bytes;
  const text = Buffer.from(buffer, byteOffset, byteLength);
  const excess = excessOf(text);
  if (excess) return { problem: PROBLEMS[excess], param: null };
  const body = objectOf(parseJson(text.toString()));
  if (!body) return { problem: "The request body must be a JSON object.", param: null };
  if (arrayOf(body["messages"]).length === 0) {
    return {
      problem: "messages: a list with at least one item is required",
      param: "messages",
    };
  }
  try {
    const { model } = body;
    const name = typeof model === "string" ? model : undefined;
    return { input: countedInput(body), model: name };
  } catch {
    return { problem: PROBLEMS.levels, param: null };
  }
}
