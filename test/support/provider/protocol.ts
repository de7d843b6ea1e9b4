import type { JsonObject } from "../../../core/process/json.ts";
import type { Answer } from "./answer.ts";
import type { Ask, Problem } from "./ask.ts";
import type { Directive } from "./directive.ts";

/** The error of a directive, with defaults for its status. */
export interface ErrorDetail {
  readonly type: string;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** An upstream protocol: reads its requests and writes its replies. */
export interface Protocol {
  readonly path: string;
  /** Name of the response header with the provider's request id. */
  readonly idHeader: string;
  /**
   * Parses a request. As strict as the real provider for errors that a wrong translation would
   * cause.
   */
  read(body: JsonObject): Ask | Problem;
  /** Returns the body of an unstreamed call. */
  whole(answer: Answer): string;
  /**
   * Returns the events of a streamed call, each with its final blank line; bytes if it is not an
   * event stream.
   */
  events(answer: Answer): Iterable<string | Uint8Array>;
  /** True if replies are written as `events` even if the request does not ask for a stream. */
  readonly alwaysStreams: boolean;
  streamType(answer: Answer): string;
  error(status: number, directive: Directive, id: string): string;
  /** Returns an error event after `sent` events of a stream. */
  errorEvent(answer: Answer, sent: number): string;
  /** Event or comment that keeps a silent stream open. */
  readonly ping: string;
}

export const eventStream = "text/event-stream; charset=utf-8";

/** Returns the error of a directive. Its type defaults to that of the status in `byStatus`. */
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
