import type { Protocol } from "../catalogue/endpoint.ts";
import type { Profile } from "../catalogue/profile.ts";
import { type JsonObject, objectOf, parseJson } from "../process/json.ts";
import type { EventKind, ServerEvent } from "../sse/reader.ts";
import type { FieldRule } from "./check.ts";
import type { Refusal } from "./refusal.ts";
import type { Usage } from "./usage/usage.ts";

/**
 * Returns what an event means to its stream. Classifies it once, and stores the result on the event for later readers.
 */
export function kindOf(event: ServerEvent, wire: Pick<Wire, "classify">): EventKind {
  event.kind ??= wire.classify(event);
  return event.kind;
}

/** Returns the type of an event: that of its `event:` line, else of its data. */
export function typeOf(event: ServerEvent): unknown {
  return event.type ?? objectOf(parseJson(event.data))?.["type"];
}

/** Maximum length of `data: [DONE]`, with any line ends. Longer events are not decoded for it. */
const DONE_BYTES_MAX = 32;

/** Returns true for the event that ends a stream of OpenAI's APIs. */
export function isDone(event: ServerEvent): boolean {
  return event.raw.length <= DONE_BYTES_MAX && event.data === "[DONE]";
}

/**
 * How far an event brings a stream. `begun`: its head, a block, part or text without content, or an end without output.
 * `refused`: it ends in a refusal, or Responses says that it failed. `failed`: it ends because the provider could not go on.
 * `delivered`: it carries an item, a block, a name, a part, text, an image or audio.
 */
export type Stage = "none" | "begun" | "refused" | "failed" | "delivered";

/**
 * How the whole body of a successful reply is charged.
 *
 * - `charged`: a reply, which costs what it used.
 * - `free`: a reply that says that it failed, or refuses before any output. The client gets it.
 * - `none`: no reply of the protocol, or one that the provider is still making.
 */
type ReplyWorth = "charged" | "free" | "none";

/** The fields of a request's body. To set undefined removes the field. */
interface Fields {
  read(name: string): unknown;
  set(name: string, value: unknown): void;
}

/**
 * How to read and write the bodies and events of one protocol. Stateless: what a call accumulates is in its `Usage`.
 */
export interface Wire {
  readonly protocol: Protocol;

  /** The reference of the protocol, which has all its fields. */
  readonly reference: string;

  /** The rules of single fields, which `check` applies first. The description of the API shows them. */
  readonly fields: Readonly<Record<string, FieldRule>>;

  /** Refuses a body that lacks what the protocol requires. The refusal names the field. */
  check(body: JsonObject): Refusal | undefined;

  /**
   * Returns the maximum output tokens that the body allows per choice, the larger of two limits; undefined if it sets
   * none.
   */
  outputLimit(body: Pick<Fields, "read">): number | undefined;

  /** The least output limit that providers take. */
  readonly outputMin: number;

  /** Returns how many choices the body asks for. Each may use the whole output limit. */
  choices(body: Pick<Fields, "read">): number;

  /**
   * Sets the output limit per choice in a body that goes upstream, once. `chatField` is its name at a Chat upstream.
   */
  limitOutput(
    body: Fields,
    tokens: number,
    chatField: NonNullable<Profile["max_tokens_field"]>,
  ): void;

  /** Returns true if a streamed request must ask for its usage, and does not. */
  lacksUsage(body: Pick<Fields, "read">): boolean;

  askForUsage(body: Fields): void;

  /** Returns an error body in the protocol, as JSON text. */
  errorBody(refusal: Refusal, requestId: string): string;

  /** Returns what ends a broken stream in the protocol, as text of the stream. */
  errorEvent(refusal: Refusal, stream: BrokenStream): string;

  /** Returns what an event means to its stream. Call `kindOf` instead: it does this once for each event. */
  classify(event: ServerEvent): EventKind;

  /** Returns true if a stream is complete when its body ends cleanly after this event, without a terminal event. */
  mayEndAt(event: ServerEvent): boolean;

  /** Returns the stage to which one event brings a stream. */
  stage(event: ServerEvent): Stage;

  /** Returns how the whole body of a successful reply is charged. */
  judge(body: JsonObject): ReplyWorth;

  readReply(reply: JsonObject, usage: Usage): void;

  /** Reads the usage in one event that is not `data`. Returns true if the event exists only to report usage. */
  readEvent(event: ServerEvent, usage: Usage): boolean;

  /**
   * Adds the output that one event delivers, for streams whose usage never comes. Repetitions of earlier output, and
   * the input of a tool's result, do not count.
   */
  countDelta(event: ServerEvent, delivered: Delivered): void;

  /** Adds the text that a whole reply delivers. */
  countReply(reply: JsonObject, delivered: Delivered): void;
}

/** A stream that ends with an error of the gateway. */
interface BrokenStream {
  readonly id: string;
  /** When its call began, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly model: string;
  /** The events with data that the client has got. */
  readonly events: number;
}

/** The parts of a protocol that core needs for the clients of an endpoint. */
export type ClientWire = Pick<Wire, "check" | "classify" | "stage" | "errorBody" | "errorEvent">;

/** Maximum length of a text for which a loop costs less than a native call. */
const LOOPED_CHARACTERS = 40;

function isShortAscii(text: string, length: number): boolean {
  if (length > LOOPED_CHARACTERS) return false;
  for (let at = 0; at < length; at++) if (charCodeAt.call(text, at) >= 0x80) return false;
  return true;
}

/** Taken from the prototype once: V8 looks the method of many kinds of strings up at each call. */
const { charCodeAt } = String.prototype;

/**
 * Output delivered so far. Bytes of ASCII and of other scripts are counted apart, because they tokenise differently.
 */
export class Delivered {
  asciiBytes = 0;
  otherBytes = 0;
  images = 0;
  /** Bytes of audio and the like, in base64. */
  mediaBytes = 0;

  addText(text: string): void {
    const { length } = text;
    if (isShortAscii(text, length)) this.asciiBytes += length;
    else this.addLength(Buffer.byteLength(text), length);
  }

  /** Adds a text by its bytes in UTF-8 and its UTF-16 units. */
  addLength(bytes: number, units: number): void {
    // `bytes - units` is what UTF-8 takes beyond one byte per UTF-16 unit. Other scripts take at least two bytes per
    // unit, so twice that never counts them too low.
    const other = Math.min(bytes, 2 * (bytes - units));
    this.otherBytes += other;
    this.asciiBytes += bytes - other;
  }
}
