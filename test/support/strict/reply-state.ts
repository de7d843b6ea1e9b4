import type { Directive } from "../provider/directive.ts";
import { prefixOf } from "./message-turns.ts";
import { isTrigger } from "./responses-rules.ts";
import { type Facts, text } from "./rule.ts";
import { makeCompaction, makeState } from "./state.ts";

/** Adds the state that the maker of the model gives with its reply, and wants back. */
export function withState(given: Directive, facts: Facts): Directive {
  const { family, protocol, model, body, turns } = facts;
  const { thinking } = given;
  const tools = given.tools ?? [];
  if (protocol === "messages") {
    if (thinking === undefined || given.signature !== undefined) return given;
    return {
      ...given,
      signature: makeState("anthropic", "signature", prefixOf(facts, turns.length)),
    };
  }
  if (protocol === "responses") {
    if (isTrigger(turns.at(-1) ?? {})) {
      return { ...given, compaction: makeCompaction(family, given.text ?? "") };
    }
    if (thinking === undefined || given.signature !== undefined || !wantsState(body)) return given;
    return { ...given, signature: makeState(family, "reasoning", thinking) };
  }
  if (family === "google" && /^gemini-3/.test(model) && tools.length > 0) {
    const bound = `${turns.length} ${text(tools[0]?.name)}`;
    return { thought_signature: makeState("google", "thought", bound), ...given };
  }
  if (family === "minimax" && thinking !== undefined) {
    const split = body["reasoning_split"] === true;
    return { reasoning_field: split ? "reasoning_details" : "think", ...given };
  }
  return given;
}

/** Returns true if a Responses request asks for the encrypted reasoning. */
function wantsState(body: Facts["body"]): boolean {
  const { include } = body;
  return Array.isArray(include) && include.includes("reasoning.encrypted_content");
}
