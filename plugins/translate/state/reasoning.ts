import { isObject, parseJson } from "../../../core/plugin/index.ts";
import type { MessagesThinking } from "../types.ts";

const START = "tgr1.";

/**
 * Packs a block of thinking for a client of Responses, which sends `encrypted_content` back
 * unchanged. Includes the text, since the client may have chosen not to see it.
 */
export function packReasoning(block: MessagesThinking): string {
  return START + Buffer.from(JSON.stringify(block)).toString("base64url");
}

/** OpenAI encrypts to Fernet tokens. Source: duolahypercho/codex-router#30. */
const OPENAI_START = "gAAAAA";

/** Returns true for content that OpenAI has encrypted: reasoning, and messages between agents of Codex. */
export function isOfOpenAi(content: unknown): boolean {
  return typeof content === "string" && content.startsWith(OPENAI_START);
}

/** Returns true for encrypted reasoning that a gateway made. */
export function isPackedReasoning(state: string): boolean {
  return state.startsWith(START);
}

/**
 * Returns the block of thinking; undefined for another maker's state. The model's provider, or the
 * seal of its state, verifies the signature inside.
 */
export function openReasoning(state: unknown): MessagesThinking | undefined {
  if (typeof state !== "string" || !isPackedReasoning(state)) return undefined;
  const block = parseJson(Buffer.from(state.slice(START.length), "base64url").toString("utf8"));
  if (!isObject(block)) return undefined;
  const { type, thinking, signature, data } = block;
  if (type === "redacted_thinking" && typeof data === "string") return { type, data };
  if (type !== "thinking" || typeof thinking !== "string") return undefined;
  return typeof signature === "string" ? { type, thinking, signature } : undefined;
}
