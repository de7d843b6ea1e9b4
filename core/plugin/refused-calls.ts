import type { Refusal } from "./refusal.ts";

/**
 * Calls that the gateway refused before an upstream was tried. They cost nothing and have no usage
 * record, so these counts show a customer why calls failed. Calls with a revoked key, or with one of
 * a suspended account, count for that account. Calls without a known key belong to none.
 */
export interface RefusedCalls {
  /** Counts by day (in Vietnam), key, status and cause; newest day first. None with a filter of models. */
  readonly counts: readonly RefusedCount[];
  /** Of the last 20 refused calls of the account those that pass the filter, newest first. */
  readonly last: readonly RefusedCall[];
}

export interface RefusedCount {
  readonly day: string;
  readonly keyId: string;
  readonly status: number;
  /** The code of the error, else the field at fault, else the type of the error. */
  readonly cause: string;
  readonly calls: number;
  readonly lastAt: Date;
}

export interface RefusedCall {
  /** The `x-request-id` of the reply. */
  readonly callId: string;
  readonly at: Date;
  readonly keyId: string;
  readonly endpoint: string;
  /** The model; null if the call was refused before its model was known. */
  readonly model: string | null;
  readonly status: number;
  readonly cause: string;
}

/** Fields of requests that a cause may name. A list, so that no client can make up causes. */
const FIELDS: ReadonlySet<string> = new Set([
  ...["model", "stream", "stream_options", "metadata", "user", "seed", "store", "background"],
  ...["messages", "system", "input", "instructions", "prompt", "conversation", "container"],
  ...["previous_response_id", "context_management", "include", "truncation", "anthropic-beta"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "stop"],
  ...["stop_sequences", "temperature", "top_p", "top_k", "logprobs", "logit_bias"],
  ...["tools", "tool_choice", "functions", "function_call", "mcp_servers", "web_search_options"],
  ...["thinking", "reasoning", "reasoning_effort", "response_format", "text", "output_config"],
  ...["modalities", "audio", "service_tier", "speed", "plugins", "models", "fallbacks"],
  ...["image", "images", "image_url", "reference_image", "ref_image", "mask", "size", "quality"],
  ...["style", "output_format", "input_fidelity", "voice"],
]);
const CAUSE_CHARACTERS_MAX = 40;

/**
 * Returns why a call was refused: the code of its error, else the field at fault without what is
 * inside of it, else the type. Never the message, which may quote the request.
 */
export function causeOf({ code, param, type }: Refusal): string {
  if (code !== null && code !== "") return code.slice(0, CAUSE_CHARACTERS_MAX);
  const field = param?.match(/^[^.[]+/)?.[0];
  return field !== undefined && FIELDS.has(field) ? field : type;
}
