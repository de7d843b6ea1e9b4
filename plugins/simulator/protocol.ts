import type { Answer } from "./answer.ts";
import type { Ask, JsonObject, Problem } from "./ask.ts";
import type { Directive } from "./directive.ts";

/** An error as a directive words it, with what the status implies filled in. */
export interface ErrorDetail {
  readonly type: string;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** One upstream protocol: how its requests are read and its answers written. */
export interface Protocol {
  readonly path: string;
  /** The response header that carries the provider's own request id. */
  readonly idHeader: string;
  /** Checks a request as strictly as the real provider does where a mistranslation would show. */
  read(body: JsonObject): Ask | Problem;
  /** The whole answer of a call that is not streamed. */
  whole(answer: Answer): string;
  /** The events of a streamed call, each with its closing blank line; bytes where it is no event stream. */
  events(answer: Answer): Iterable<string | Uint8Array>;
  /** Answers of this protocol are written as `events` even when nobody asked for a stream. */
  readonly alwaysStreams: boolean;
  streamType(answer: Answer): string;
  error(status: number, directive: Directive, id: string): string;
  /** An error event after `sent` events of a stream. */
  errorEvent(answer: Answer, sent: number): string;
  /** What this provider sends to keep a quiet stream alive. */
  readonly ping: string;
}

export const eventStream = "text/event-stream; charset=utf-8";

/** The words for an error: the directive's own, else those of `byStatus`. */
export function errorDetail(
  directive: Directive,
  byStatus: Readonly<Record<number, string>>,
  status: number,
): ErrorDetail {
  const otherwise = status < 500 ? "invalid_request_error" : (byStatus[500] ?? "api_error");
  return {
    type: directive.error?.type ?? byStatus[status] ?? otherwise,
    message: directive.error?.message ?? `Simulated error ${status}.`,
    code: directive.error?.code ?? null,
    param: directive.error?.param ?? null,
  };
}
