import type { JsonObject, ServerEvent } from "../../core/plugin/index.ts";
import type { Reply } from "./errors.ts";
import type { ChatError, MessagesUsage } from "./types.ts";

/**
 * The meaning of a piece of the client's stream. `terminal` is the event that completes the reply;
 * the gateway may withhold it until the call is charged. `usage` reports usage. Nothing follows
 * `terminal` or `error`.
 */
export type Mark = "event" | "comment" | "usage" | "terminal" | "error";

/** Receives a translated stream. */
export interface ClientStream {
  /** Sends one whole, encoded event. */
  write(event: string, mark: Mark): void;
  /** Takes an event of Messages instead of its text, to translate it further. */
  take?(event: JsonObject): void;
  /** Takes the whole reply, instead of events. */
  whole?(status: number, body: object): void;
  /** Called once the reply has reached a stop sequence: the upstream need not go on, but may report its usage. */
  stopped?(): void;
  /** Returns the usage so far, by estimate. */
  readonly used?: () => MessagesUsage;
  /** Sends an error as the whole reply, for a failure before the first write. Nothing follows. */
  refuse(status: number, body: JsonObject | ChatError): void;
}

/** A server-sent event of the upstream. */
export interface UpstreamEvent {
  readonly type: string | undefined;
  readonly data: string;
  /** The meaning that core found in its bytes. `data` has no usage. Unknown events are read whole. */
  readonly kind?: ServerEvent["kind"];
}

/** How an upstream's body ended: cleanly, or by a broken connection. */
export type End = "eof" | "reset";

/** Translates the events of an upstream, each as soon as the client's protocol allows. */
export interface StreamTranslator {
  event(event: UpstreamEvent): void;
  /** Call at the end of the upstream's body. Does nothing after a terminal event. */
  end(how: End): void;
}

/** Translates the reply to a translated request. */
export interface WayBack {
  reply(body: unknown): Reply<object>;
  /** Reads a stream for a client that gets a whole reply. */
  gather?(client: ClientStream): StreamTranslator;
  stream(client: ClientStream): StreamTranslator;
}

/**
 * Bound for characters that are queued out of order, so that a hostile upstream cannot fill the
 * memory.
 */
export const WAITING_CHARS_MAX = 32 * 1024 * 1024;
