import { PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import type { Decoder } from "../plugin/upstream-kind.ts";

const JSON_TYPE = "application/json";
/** The content type that a client gets for events. */
export const EVENT_STREAM_TYPE = "text/event-stream";
/** The content types of speech. Anything else, such as a page of a proxy, is no speech, and is not charged. */
const AUDIO = /^(?:audio\/|(?:application|binary)\/octet-stream)/i;

/** The beginnings of the lines of an event stream. */
const LINES = ["event:", "data:", "id:", "retry:", ":"];
const LINE_BYTES_MAX = 64;

/** Returns how to read the reply of an HTTP API. A body without a content type is read as JSON. */
export function decoderByType(status: number, contentType: string | undefined): Decoder {
  const type = contentType?.toLowerCase();
  if (status === 200 && type?.startsWith(EVENT_STREAM_TYPE)) return "events";
  return type === undefined || type.includes("json") ? "json" : "bytes";
}

/** How to read a successful reply, and its content type for the client. */
interface ReplyForm {
  readonly decoder: Decoder;
  readonly type: string | undefined;
}

/**
 * Returns the form of a successful reply. Only speech may be anything but JSON or events, and only audio. If a
 * server sends another content type, the reply is read as the form that the request asked for, so
 * that none of it passes unread.
 */
export function replyForm(
  decoder: Decoder,
  type: string | undefined,
  protocol: Protocol,
  streamed: boolean,
): ReplyForm {
  if (typeof decoder === "object") return { decoder, type: EVENT_STREAM_TYPE };
  if (decoder === "events") {
    return { decoder, type: type?.startsWith(EVENT_STREAM_TYPE) ? type : EVENT_STREAM_TYPE };
  }
  if (decoder === "json" || (protocol === "speech" && AUDIO.test(type ?? ""))) {
    return { decoder, type };
  }
  const isText = type?.toLowerCase().startsWith("text/plain") === true;
  return streamed && isText
    ? { decoder: "events", type: EVENT_STREAM_TYPE }
    : { decoder: "json", type: JSON_TYPE };
}

/**
 * Returns true if the reply of a server that states no content type is an event stream, by its first bytes; undefined if they
 * are only blank (KarpelesLab/teamclaude#456).
 */
export function beginsEvents(bytes: Uint8Array, protocol: Protocol): boolean | undefined {
  if (PROTOCOLS[protocol].conversation === undefined) return false;
  const text = Buffer.from(bytes).toString("latin1");
  const line = text.replace(/^(?:\xef\xbb\xbf)?\s*/, "").slice(0, LINE_BYTES_MAX);
  if (line === "") return undefined;
  return LINES.some((start) => line.startsWith(start) || start.startsWith(line));
}
