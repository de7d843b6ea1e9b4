import { createHash, createHmac } from "node:crypto";

/** Makes state checkable, not secret: anyone may read this key. */
const KEY = "the simulated providers";
const MAC_CHARS = 22;

/**
 * Makes state that must come back as it was: a signature, a thought signature, encrypted reasoning.
 * It is bound to its maker and to `bound`.
 */
export function makeState(maker: string, kind: string, bound: string): string {
  const hash = createHash("sha256").update(bound).digest("base64url").slice(0, MAC_CHARS);
  return `${startOf(maker, kind)}${hash}${macOf(maker, kind, hash)}`;
}

/** OpenAI's encrypted reasoning is a Fernet token, and every Fernet token begins like this. */
function startOf(maker: string, kind: string): string {
  return maker === "openai" && kind === "reasoning" ? "gAAAAA" : "";
}

/** The result of a check of state that came back. */
type StateCheck = "own" | "bound elsewhere" | "foreign";

/** Checks state. Without `bound` it only has to be of the maker. */
export function checkState(
  maker: string,
  kind: string,
  state: unknown,
  bound?: string,
): StateCheck {
  const start = startOf(maker, kind);
  if (typeof state !== "string" || !state.startsWith(start)) return "foreign";
  const hash = state.slice(start.length, start.length + MAC_CHARS);
  if (state !== `${start}${hash}${macOf(maker, kind, hash)}`) return "foreign";
  if (bound === undefined || state === makeState(maker, kind, bound)) return "own";
  return "bound elsewhere";
}

/** Makes the encrypted content of a compaction, which its maker can read back. */
export function makeCompaction(maker: string, summary: string): string {
  const packed = Buffer.from(summary).toString("base64url");
  return `${packed}.${makeState(maker, "compaction", summary)}`;
}

/** Returns the summary in a compaction; undefined if this maker did not make it. */
export function readCompaction(maker: string, content: unknown): string | undefined {
  const [packed = "", state] = typeof content === "string" ? content.split(".") : [];
  const summary = Buffer.from(packed, "base64url").toString();
  return checkState(maker, "compaction", state, summary) === "own" ? summary : undefined;
}

function macOf(maker: string, kind: string, hash: string): string {
  const text = `${maker}\n${kind}\n${hash}`;
  return createHmac("sha256", KEY).update(text).digest("base64url").slice(0, MAC_CHARS);
}
