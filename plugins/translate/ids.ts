import { createHash, randomInt } from "node:crypto";

const ALPHANUMERICS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns `length` characters of `[0-9A-Za-z]`. Tests pass their own for repeatable output. */
export type RandomText = (length: number) => string;

export const randomText: RandomText = (length) => {
  let text = "";
  for (let i = 0; i < length; i += 1) text += ALPHANUMERICS[randomInt(ALPHANUMERICS.length)];
  return text;
};

const MESSAGES_ID = /^[a-zA-Z0-9_-]+$/;
const ENCODED_ID = /^tgw1_[0-9A-Za-z]{6}_([A-Za-z0-9_-]+)$/;

/**
 * Converts a tool call id of a Chat upstream for a Messages client. Messages allows few characters,
 * and some Chat models need their own id back unchanged. So other ids are encoded, and
 * `toChatToolId` decodes them. Six random characters make ids unique that a server reuses in every
 * turn.
 */
export function toMessagesToolId(raw: unknown, random: RandomText): string {
  if (typeof raw !== "string" || raw === "") return `toolu_${random(24)}`;
  return MESSAGES_ID.test(raw) ? raw : encodeToolId(raw, random(6));
}

/**
 * Converts a tool call id of a Messages client for a Chat upstream; decodes and, if too long,
 * hashes it.
 */
export function toChatToolId(id: string, charsMax: number | null): string {
  // `toMessagesToolId` never encodes an empty id, so keep such an id as it is.
  const raw = decodeToolId(id) || id;
  if (charsMax === null || raw.length <= charsMax) return raw;
  return `call_${sha256Hex(raw).slice(0, 32)}`;
}

/**
 * Converts the tool call ids of a Chat request's history for a Messages upstream, which requires
 * unique ids in a conversation. Some servers restart their ids in every turn.
 */
export class HistoryToolIds {
  private readonly uses = new Map<string, number>();

  /** Returns the id to send for a new call with the id `raw`. */
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

/** Makes the id of a Messages response from the id of the Chat response. */
export function toMessageId(raw: unknown, random: RandomText): string {
  if (typeof raw !== "string" || raw === "") return `msg_${random(24)}`;
  const cleaned = raw.replace(/^chatcmpl-/, "").replace(/[^a-zA-Z0-9_-]/g, "_");
  return cleaned.startsWith("msg_") ? cleaned : `msg_${cleaned}`;
}

/** Makes the id of a Chat response from the id of the Messages response. */
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
