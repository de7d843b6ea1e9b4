import type { Protocol } from "../catalogue/endpoint.ts";
import type { Decoder } from "../plugin/upstream-kind.ts";

const JSON_TYPE = "application/json";
const EVENT_STREAM_TYPE = "text/event-stream";
/** The content types of speech. Anything else, such as a page of a proxy, is no speech, and is not charged. */
const AUDIO = /^(?:audio\/|(?:application|binary)\/octet-stream)/i;

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
