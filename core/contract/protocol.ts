import type { JsonObject } from "../process/json.ts";
import type { EventKind, ServerEvent } from "../sse/reader.ts";
import type { Refusal } from "./refusal.ts";
import type { Usage } from "./usage.ts";

/** The protocols that clients and upstreams speak. Image generation and edits share one. */
export type Protocol = "messages" | "chat" | "responses" | "images" | "speech";

/** What an event means to its stream. Classified once: every reader after the first finds it on the event. */
export function kindOf(event: ServerEvent, wire: Wire): EventKind {
  event.kind ??= wire.classify(event);
  return event.kind;
}

/**
 * The facts of one protocol: where things stand in its bodies and events. Stateless; what a call
 * accumulates stands in its `Usage`.
 */
export interface Wire {
  readonly protocol: Protocol;

  /** What every client of the protocol must send; a refusal names the field. */
  check(body: JsonObject): Refusal | undefined;

  /** The most output tokens that the body allows to an answer, where it says so. */
  outputLimit(body: JsonObject): number | undefined;

  /** How many answers the body asks for, each of them with that much output. */
  choices(body: JsonObject): number;

  /** Lowers the output limit of each answer of a body that goes upstream. */
  limitOutput(body: JsonObject, tokens: number): void;

  /** Whether a streamed request must say that it wants its usage reported, and does not. */
  lacksUsage(body: JsonObject): boolean;

  /** Makes a streamed request ask for its usage. */
  askForUsage(body: JsonObject): void;

  /** The error body of the protocol, as JSON text. */
  errorBody(refusal: Refusal, requestId: string): string;

  /** The event that ends a broken stream in the protocol, as bytes of the stream. */
  errorEvent(refusal: Refusal): string;

  /** Reads what an event means to its stream; `kindOf` does it once an event. */
  classify(event: ServerEvent): EventKind;

  /** Whether a stream whose body ends cleanly behind this event is complete without a terminal event. */
  mayEndAt(event: ServerEvent): boolean;

  /** Reads usage out of a whole reply. */
  readReply(reply: JsonObject, usage: Usage): void;

  /** Reads usage out of one event that is not `data`; returns true if the event exists only to report usage. */
  readEvent(event: ServerEvent, usage: Usage): boolean;

  /** Adds up the text that one event delivers, for streams whose usage never comes. */
  countDelta(event: ServerEvent, delivered: Delivered): void;

  /** Adds up the text that a whole reply delivers. */
  countReply(reply: JsonObject, delivered: Delivered): void;
}

/** Text delivered so far: bytes of ASCII and bytes of other scripts apart, since they tokenise apart. */
export class Delivered {
  asciiBytes = 0;
  otherBytes = 0;

  get any(): boolean {
    return this.asciiBytes + this.otherBytes > 0;
  }

  addText(text: string): void {
    const bytes = Buffer.byteLength(text);
    // `extra` is what UTF-8 takes beyond one byte a unit; two bytes a unit is the least that other
    // scripts take, so doubling it never counts them too low.
    const other = Math.min(bytes, 2 * (bytes - text.length));
    this.otherBytes += other;
    this.asciiBytes += bytes - other;
  }
}
