import type { JsonObject } from "../../core/plugin/index.ts";
import type { Answer, Usage } from "./answer.ts";
import type { Ask } from "./ask.ts";

/** The fields of an error. */
export interface ErrorDetail {
  readonly type: string;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** The body of a reply. */
interface Reply {
  readonly type: string;
  /** The events of a stream, or all of a body. */
  readonly parts: Iterable<string | Uint8Array>;
}

/** An endpoint of a provider: reads its requests and writes its replies. */
export interface Endpoint {
  readonly path: string;
  /** Name of the response header with the provider's request id. */
  readonly idHeader: string;
  /** Types of errors by status. The type of 400 and that of 500 count for the rest. */
  readonly errorTypes: Readonly<Record<number, string>>;
  /** Throws a `Refused` for what the provider cannot serve. */
  read(body: JsonObject): Ask;
  reply(answer: Answer): Reply;
  error(detail: ErrorDetail, id: string): JsonObject;
  /** Returns the event of an error after `sent` events of a stream. */
  errorEvent(detail: ErrorDetail, sent: number): string;
}

export function json(body: JsonObject): Reply {
  return { type: "application/json", parts: [JSON.stringify(body)] };
}

export function eventStream(parts: Iterable<string>): Reply {
  return { type: "text/event-stream; charset=utf-8", parts };
}

/** An event with its type in front, as Anthropic and OpenAI's newer endpoints send it. */
export function frame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The parts that all endpoints of OpenAI share. */
export const openai: Pick<Endpoint, "idHeader" | "errorTypes" | "error" | "errorEvent"> = {
  idHeader: "x-request-id",
  errorTypes: { 400: "invalid_request_error", 429: "requests", 500: "server_error" },
  error: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
  errorEvent: ({ message, type, param, code }) =>
    `data: ${JSON.stringify({ error: { message, type, param, code } })}\n\n`,
};

/** Usage as Responses and its newer endpoints write it. */
export function responsesUsage(usage: Usage | undefined): JsonObject | undefined {
  if (!usage) return undefined;
  return {
    input_tokens: usage.input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}
