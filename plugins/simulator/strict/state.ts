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
  return `${hash}${macOf(maker, kind, hash)}`;
}

/** How state that came back compares with what its maker made. */
type StateCheck = "own" | "bound elsewhere" | "foreign";

/** Checks state. Without `bound` it only has to be of the maker. */
export function checkState(
  maker: string,
  kind: string,
  state: unknown,
  bound?: string,
): StateCheck {
  if (typeof state !== "string" || state.length !== 2 * MAC_CHARS) return "foreign";
  const hash = state.slice(0, MAC_CHARS);
  if (state.slice(MAC_CHARS) !== macOf(maker, kind, hash)) return "foreign";
  if (bound === undefined || state === makeState(maker, kind, bound)) return "own";
  return "bound elsewhere";
}

function macOf(maker: string, kind: string, hash: string): string {
  const text = `${maker}\n${kind}\n${hash}`;
  return createHmac("sha256", KEY).update(text).digest("base64url").slice(0, MAC_CHARS);
}
