import { createHash, randomInt } from "node:crypto";

const ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Text of `length` characters out of `[0-9A-Za-z]`. Tests give their own, so that output repeats. */
export type RandomText = (length: number) => string;

export const randomText: RandomText = (length) => {
  let text = "";
  for (let i = 0; i < length; i += 1) text += ALPHANUMERICS[randomInt(ALPHANUMERICS.length)];
  return text;
};

const MESSAGES_ID = /^[a-zA-Z0-9_-]+$/;
const ENCODED_ID = /^tgw1_[0-9A-Za-z]{6}_([A-Za-z0-9_-]+)$/;

/**
 * A tool call id of a Chat upstream as a Messages client may have it. Messages takes a narrow set of
 * characters, and some Chat models break unless their own id comes back unchanged, so an odd id is encoded
 * in a way that `toChatToolId` undoes. Six random characters keep ids apart that a server uses every turn.
 */
export function toMessagesToolId(raw: unknown, random: RandomText): string {
  if (typeof raw !== "string" || raw === "") return `toolu_${random(24)}`;
  return MESSAGES_ID.test(raw) ? raw : encodeToolId(raw, random(6));
}

/** A tool call id of a Messages client as the Chat upstream knows or accepts it. */
export function toChatToolId(id: string, charsMax: number | null): string {
  // An encoding of nothing is no encoding of ours.
  const raw = decodeToolId(id) || id;
  if (charsMax === null || raw.length <= charsMax) return raw;
  return `call_${sha256Hex(raw).slice(0, 32)}`;
}

/**
 * The ids of one Chat request's history on their way to a Messages upstream, which wants each id to name
 * one call in the whole conversation. Servers that count calls anew each turn use an id again and again.
 */
export class HistoryToolIds {
  private readonly uses = new Map<string, number>();

  /** A new assistant message calls by this id. Answers the id to send; later results resolve to it. */
  use(raw: string): string {
    const reuse = this.uses.get(raw) ?? -1;
    this.uses.set(raw, reuse + 1);
    return this.idOf(raw, reuse + 1);
  }

  private idOf(raw: string, reuse: number): string {
    if (reuse === 0 && MESSAGES_ID.test(raw)) return raw;
    return encodeToolId(raw, String(reuse).padStart(6, "0"));
  }
}

/** The id of a Messages response, made from the id of the Chat response. */
export function toMessageId(raw: unknown, random: RandomText): string {
  if (typeof raw !== "string" || raw === "") return `msg_${random(24)}`;
  const cleaned = raw.replace(/^chatcmpl-/, "").replace(/[^a-zA-Z0-9_-]/g, "_");
  return cleaned.startsWith("msg_") ? cleaned : `msg_${cleaned}`;
}

/** The id of a Chat response, made from the id of the Messages response. */
export function toCompletionId(raw: unknown, random: RandomText): string {
  return `chatcmpl-${typeof raw === "string" && raw !== "" ? raw : random(24)}`;
}

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

function encodeToolId(raw: string, salt: string): string {
  return `tgw1_${salt}_${Buffer.from(raw, "utf8").toString("base64url")}`;
}

function decodeToolId(id: string): string | undefined {
  const encoded = ENCODED_ID.exec(id)?.[1];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64url").toString("utf8");
}
