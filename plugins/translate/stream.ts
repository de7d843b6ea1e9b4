import type { Failure } from "./errors.ts";
import type { ChatError, MessagesError } from "./types.ts";

/**
 * What a piece of a client's stream is to the gateway. `terminal` is the one event that tells the client its
 * answer is whole; it may be kept back until the call is paid. `usage` reports usage. Nothing follows `terminal`
 * or `error`.
 */
export type Mark = "event" | "comment" | "usage" | "terminal" | "error";

/** Where a translated stream goes. */
export interface ClientStream {
  /** One whole event, ready to be sent. */
  write(event: string, mark: Mark): void;
  /** The stream failed before anything was written: this error is the whole answer. Nothing follows. */
  refuse(status: number, body: MessagesError | ChatError): void;
}

/** An event of the upstream, as the reader of event streams gives it. */
export interface UpstreamEvent {
  readonly type: string | undefined;
  readonly data: string;
}

/** How an upstream's body ended: cleanly, or by a connection that broke. */
export type End = "eof" | "reset";

/** Turns the events of an upstream into those of a client, each as soon as the client's protocol allows. */
export interface StreamTranslator {
  event(event: UpstreamEvent): void;
  /** The upstream's body is over. To call it after a terminal event does no harm. */
  end(how: End): void;
  /** Ends the client's stream with an error of the gateway's own. */
  cut(failure: Failure): void;
  /** Keeps a silent stream open, once it has begun. */
  ping(): void;
}

/** How many characters may wait for their turn, so that a hostile upstream cannot fill the memory. */
export const WAITING_CHARS_MAX = 32 * 1024 * 1024;
