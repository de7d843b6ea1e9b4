import { type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { customInputOfText } from "../../chat/write/answer.ts";
import { type RandomText, toChatToolId } from "../../ids.ts";
import { packReasoning } from "../../state/reasoning.ts";
import type { ClientTool } from "../read/tools.ts";

/** Longest id that OpenAI accepts, in case the conversation continues there. */
export const CALL_ID_CHARS_MAX = 64;

/** Returns the status of an item that has ended. */
export function statusOf(isCut: boolean): string {
  return isCut ? "incomplete" : "completed";
}

/** Returns the part of a message that says a text. */
export function partOf(text: string, isRefusal: boolean): JsonObject {
  if (isRefusal) return { type: "refusal", refusal: text };
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** Returns true if a block of text is what the model says as it refuses. */
export function isRefusal(block: unknown): boolean {
  return objectOf(block)?.["refusal"] === true;
}

export function messageItem(id: string, part: JsonObject, status: string): JsonObject {
  return { id, type: "message", status, role: "assistant", content: [part] };
}

/** `block` is thinking of Messages, signed or redacted. */
export function reasoningItem(id: string, block: JsonObject, isShown: boolean): JsonObject {
  const text = typeof block["thinking"] === "string" ? block["thinking"] : "";
  const summary = isShown && text !== "" ? [{ type: "summary_text", text }] : [];
  return { id, type: "reasoning", summary, encrypted_content: stateOf(block, text) };
}

function stateOf(block: JsonObject, thinking: string): string | null {
  const { type, signature, data } = block;
  if (type === "redacted_thinking") {
    return typeof data === "string" ? packReasoning({ type, data }) : null;
  }
  const isSigned = typeof signature === "string" && signature !== "";
  return isSigned ? packReasoning({ type: "thinking", thinking, signature }) : null;
}

/** `block` is a block of compaction whose content is sealed. */
export function compactionItem(block: JsonObject, random: RandomText): JsonObject {
  const { encrypted_content } = block;
  return { id: `cmp_${random(24)}`, type: "compaction", encrypted_content };
}

/** `args` is the input as JSON; a custom tool gets the text in it. */
export function callItem(
  tool: ClientTool,
  id: unknown,
  args: string,
  random: RandomText,
  status = "completed",
): JsonObject {
  const { name, namespace, custom } = tool;
  const given = typeof id === "string" && id !== "" ? id : `call_${random(24)}`;
  // The maker's own id may fit if the encoded one does not. Kimi needs its own back.
  const call_id =
    given.length <= CALL_ID_CHARS_MAX ? given : toChatToolId(given, CALL_ID_CHARS_MAX);
  return {
    id: `${custom ? "ctc" : "fc"}_${random(24)}`,
    type: custom ? "custom_tool_call" : "function_call",
    status,
    call_id,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(custom ? { input: args === "" ? "" : customInputOfText(args) } : { arguments: args }),
  };
}
