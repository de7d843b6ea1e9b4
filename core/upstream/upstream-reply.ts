import type { Protocol } from "../catalogue/endpoint.ts";
import type { Decoder } from "../plugin/upstream-kind.ts";
import { objectOf, parseJson } from "../process/json.ts";
import { type ServerEvent, SseReader } from "../sse/reader.ts";
import type { Wire } from "../wire/wire.ts";
import type { Headers } from "./attempt.ts";
import { type Refused, refusedInBody } from "./fault.ts";

/**
 * The body of an unstreamed reply or of a refusal, which is kept until it is whole: until then, another route can serve
 * the call.
 */
export class WholeReply {
  private parts: Buffer[] = [];
  private text = "";
  bytes = 0;

  add(part: Buffer): void {
    this.parts.push(part);
    this.bytes += part.length;
  }

  /** Returns the whole body and its worth, as the protocol judges it. `reply` is undefined if it is not a JSON object. */
  judge(wire: Wire) {
    this.text = this.read();
    const reply = objectOf(parseJson(this.text));
    return { reply, text: this.text, worth: reply ? wire.judge(reply) : ("none" as const) };
  }

  read(): string {
    const [first] = this.parts;
    const bytes = this.parts.length === 1 && first ? first : Buffer.concat(this.parts);
    return bytes.toString();
  }

  /** Returns the body of a refusal. Alibaba sends that of a streamed call as an event, as JSON or as events. */
  readRefusal(): string {
    const text = this.read();
    if (parseJson(text) !== undefined) return text;
    let data: string | undefined;
    const reader = new SseReader();
    const take = (event: ServerEvent) => {
      if (parseJson(event.data) !== undefined) data ??= event.data;
    };
    reader.push(Buffer.from(text), take);
    reader.end(take);
    return data ?? text;
  }

  error(): Refused | undefined {
    return refusedInBody(this.text);
  }

  /** Gives the parts, once. */
  take(): Buffer[] {
    const { parts } = this;
    this.clear();
    return parts;
  }

  clear(): void {
    this.parts = [];
    this.text = "";
    this.bytes = 0;
  }
}

export const JSON_TYPE = "application/json";
/** The content type that a client gets for events. */
export const EVENT_STREAM_TYPE = "text/event-stream";
/** The content types of speech. Anything else, such as a page of a proxy, is no speech, and is not charged. */
const AUDIO = /^(?:audio\/|(?:application|binary)\/octet-stream)/i;

/**
 * Returns how to read the reply of an HTTP API. A body without a content type is read as the form that the request asked for
 * (KarpelesLab/teamclaude#456). A refusal is read whole, in events too.
 */
export function decoderByType(
  status: number,
  contentType: string | undefined,
  streamed: boolean,
): Decoder {
  const type = contentType?.toLowerCase();
  const isEvents = type?.startsWith(EVENT_STREAM_TYPE) ?? streamed;
  if (isEvents) return status === 200 ? "events" : "json";
  return type === undefined || type.includes("json") ? "json" : "bytes";
}

/**
 * Returns the form of a successful reply. Only speech may be anything but JSON or events, and only audio. If a server
 * sends another content type, the reply is read as the form that the request asked for, so that none of it passes unread.
 */
export function replyForm(
  decoder: Decoder,
  type: string | undefined,
  protocol: Protocol,
  streamed: boolean,
): { readonly decoder: Decoder; readonly type: string | undefined } {
  if (typeof decoder === "object") return { decoder, type: EVENT_STREAM_TYPE };
  if (decoder === "events") {
    return { decoder, type: type?.startsWith(EVENT_STREAM_TYPE) ? type : EVENT_STREAM_TYPE };
  }
  if (decoder === "json") return { decoder, type: JSON_TYPE };
  if (protocol === "speech" && AUDIO.test(type ?? "")) return { decoder, type };
  const isText = type?.toLowerCase().startsWith("text/plain") === true;
  return streamed && isText
    ? { decoder: "events", type: EVENT_STREAM_TYPE }
    : { decoder: "json", type: JSON_TYPE };
}

/** Headers of an upstream's reply that the client gets, besides the content type. */
const PASSED_HEADERS = ["retry-after", "retry-after-ms"] as const;

/** Returns the headers of a reply that the client gets: name, value, name, value. */
export function passedHeaders(contentType: string | undefined, headers: Headers): string[] {
  const passed: string[] = [];
  if (contentType !== undefined) passed.push("content-type", contentType);
  for (const name of PASSED_HEADERS) {
    const value = single(headers[name]);
    if (value !== undefined) passed.push(name, value);
  }
  return passed;
}

/** Returns the headers that say when to try again: name, value, name, value. `ownMs`: what the body says. */
export function retryHeaders(headers: Headers, ownMs?: number): string[] {
  const passed = passedHeaders(undefined, headers);
  if (passed.length > 0 || ownMs === undefined) return passed;
  return ["retry-after", String(Math.ceil(ownMs / 1_000))];
}

/** Returns the time after which a provider wants to be tried again, in milliseconds, if it says so. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const ms = Number(single(headers["retry-after-ms"]) ?? "none");
  if (ms >= 0) return ms;
  const given = single(headers["retry-after"]);
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (seconds >= 0) return seconds * 1_000;
  const at = Date.parse(given);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
