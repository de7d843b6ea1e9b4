import { arrayOf, isObject, type JsonObject } from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import { toChatToolId } from "../../ids.ts";
import { OpenCalls } from "../../messages/open-calls.ts";
import { isServerBlock } from "../../messages/server-blocks.ts";
import { withoutToolChanges } from "../../messages/tool-changes.ts";
import type { ChatAssistant, ChatMessage, ChatPart, ChatText, ChatToolCall } from "../../types.ts";
import { asContent, summaryOf, toolAnswer, userParts } from "./content.ts";
import type { Scope } from "./scope.ts";
import { asSystemContent, systemTexts } from "./system.ts";

/**
 * Translates the turns of a Messages conversation.
 *
 * Chat requires the tool messages of a call directly after it. So everything between two assistant
 * turns is collected first. Tool results go first, then system entries and user messages in order.
 */
export class Turns {
  readonly messages: ChatMessage[] = [];
  /** System texts that move to the start of the conversation. */
  readonly hoisted: ChatText[] = [];
  /** Ids of the calls of the last assistant turn that have no result yet. */
  private readonly open: OpenCalls;
  private results: ChatMessage[] = [];
  private rest: ChatMessage[] = [];
  private between = false;

  constructor(private readonly scope: Scope) {
    this.open = new OpenCalls(scope.notes);
  }

  add(item: unknown, path: string): void {
    const message = this.scope.notes.element(item, path);
    if (!message) return;
    noteFields(message, this.scope);
    switch (message["role"]) {
      case "assistant":
        this.closeGap();
        this.addAssistant(message, path);
        return;
      case "user":
        this.between = true;
        this.addUser(message, path);
        return;
      case "system":
        this.between = true;
        this.addSystem(withoutToolChanges(message["content"]), `${path}.content`);
        return;
      default:
        this.scope.notes.invalid(`${path}.role`, 'must be "user" or "assistant"');
    }
  }

  end(): void {
    this.closeGap();
    this.open.close();
  }

  private closeGap(): void {
    if (!this.between) return;
    this.open.close();
    for (const message of this.results) this.messages.push(message);
    for (const message of this.rest) this.messages.push(message);
    this.results = [];
    this.rest = [];
    this.between = false;
  }

  private addUser(message: JsonObject, path: string): void {
    const content = message["content"];
    const where = `${path}.content`;
    if (typeof content === "string") {
      if (content !== "") this.rest.push({ role: "user", content });
      return;
    }
    if (!Array.isArray(content)) {
      this.scope.notes.invalid(where, "must be a string or an array of blocks");
      return;
    }
    const attachments: ChatPart[] = [];
    for (const [at, item] of content.entries()) {
      const block = this.scope.notes.element(item, `${where}[${at}]`);
      if (block?.["type"] !== "tool_result") continue;
      this.answer(block, `${where}[${at}]`);
      const { message: result, attachments: media } = toolAnswer(
        block,
        `${where}[${at}]`,
        this.scope,
      );
      this.results.push(result);
      for (const part of media) attachments.push(part);
    }
    const parts = [...attachments, ...userParts(content, where, this.scope)];
    if (parts.length > 0) this.rest.push({ role: "user", content: asContent(parts, content) });
  }

  private answer(block: JsonObject, path: string): void {
    const id = block["tool_use_id"];
    if (typeof id === "string") this.open.take(id, path);
  }

  private addSystem(content: unknown, path: string): void {
    const texts = systemTexts(content, path, this.scope);
    if (texts.length === 0) return;
    const { mid_system: place, cache_control: marks } = this.scope.profile;
    if (place === "hoist") {
      for (const text of texts) this.hoisted.push(text);
    } else if (place === "user") {
      const text = asSystemContent(texts, false);
      this.rest.push({ role: "user", content: `<system-reminder>${text}</system-reminder>` });
    } else {
      const marked = marks === "keep" && Array.isArray(content);
      this.rest.push({ role: "system", content: asSystemContent(texts, marked) });
    }
  }

  private addAssistant(message: JsonObject, path: string): void {
    const answersPending = this.open.size > 0;
    const turn = this.assistantTurn(message["content"], `${path}.content`);
    if (turn === undefined) return;
    const last = this.messages.at(-1);
    // Merges turns only here, because no text may come between a call and its result.
    if (answersPending && last?.role === "assistant") join(last, turn);
    else this.messages.push(turn);
  }

  private assistantTurn(content: unknown, path: string): ChatAssistant | undefined {
    if (typeof content === "string") {
      return content === "" ? undefined : { role: "assistant", content };
    }
    if (!Array.isArray(content)) {
      this.scope.notes.invalid(path, "must be a string or an array of blocks");
      return undefined;
    }
    const texts: string[] = [];
    const thoughts: string[] = [];
    const calls: ChatToolCall[] = [];
    let signature = "";
    for (const [at, item] of content.entries()) {
      const where = `${path}[${at}]`;
      const block = this.scope.notes.element(item, where);
      if (!block) continue;
      const type = block["type"];
      if (type === "text") {
        texts.push(this.scope.notes.string(block, "text", `${where}.text`) ?? "");
      } else if (type === "thinking") {
        const text = this.scope.notes.string(block, "thinking", `${where}.thinking`) ?? "";
        const state = this.stateOf(block, text);
        if (state === "") thoughts.push(text);
        else if (state !== undefined) signature = state;
      } else if (type === "tool_use") {
        calls.push(signed(this.call(block, where), signature));
        signature = "";
      } else if (type === "compaction") {
        const isLast = at === content.length - 1;
        texts.push(`${summaryOf(block)}${isLast ? "" : "\n\n"}`);
      } else if (type === "fallback") {
        this.scope.notes.drop("messages.content.fallback");
      } else if (!isServerBlock(type)) {
        this.scope.notes.unsupported(`${where}.type`, "this block cannot be translated");
      }
    }
    return this.build(texts.join(""), thoughts.join(""), calls);
  }

  /**
   * Returns the state of a thinking block: empty if its text is the state; undefined if it is
   * another maker's, which the model cannot read.
   */
  private stateOf(block: JsonObject, text: string): string | undefined {
    const { state } = this.scope;
    if (!state) return "";
    const { signature } = block;
    return typeof signature === "string" ? state.open(signature, text) : undefined;
  }

  private build(text: string, thought: string, calls: ChatToolCall[]): ChatAssistant | undefined {
    if (text === "" && calls.length === 0) return undefined;
    const turn: ChatAssistant = { role: "assistant", content: text === "" ? null : text };
    const { replay } = this.scope.profile;
    if (replay === "reasoning_content" && thought !== "") turn.reasoning_content = thought;
    if (replay === "reasoning_details" && thought !== "") {
      turn.reasoning_details = [{ type: "reasoning.text", text: thought }];
    }
    if (calls.length > 0) turn.tool_calls = calls;
    return turn;
  }

  private call(block: JsonObject, path: string): ChatToolCall {
    const { names, profile } = this.scope;
    const { id, name, input } = this.open.add(block, path);
    return {
      id: toChatToolId(id, profile.tool_id_max),
      type: "function",
      function: {
        name: names.forChat(name, profile.tool_name_max),
        arguments: argumentsOf(input),
      },
    };
  }
}

/** Fields of blocks that no other protocol has. Cache marks of other blocks may go on. */
const LOST_OF_BLOCKS = new Map<unknown, readonly string[]>([
  ["compaction", ["cache_control"]],
  ["image", ["transformations"]],
  ["search_result", ["citations"]],
  ["tool_addition", ["cache_control"]],
  ["tool_removal", ["cache_control"]],
  ["tool_use", ["cache_control"]],
]);

/** Names the settings of a turn, the fields of its blocks and the blocks that no other protocol has. */
export function noteFields(turn: JsonObject, { notes }: Scope): void {
  for (const name in turn)
    if (name !== "role" && name !== "content") notes.drop(`messages.${name}`);
  for (const block of arrayOf(turn["content"])) {
    if (!isObject(block)) continue;
    const { type } = block;
    if (isServerBlock(type) && type !== "redacted_thinking") notes.drop(String(type));
    for (const field of LOST_OF_BLOCKS.get(type) ?? []) if (block[field] != null) notes.drop(field);
  }
}

/** Gives a call the thought signature that came with it. */
function signed(call: ChatToolCall, thought_signature: string): ChatToolCall {
  if (thought_signature === "") return call;
  return { ...call, extra_content: { google: { thought_signature } } };
}

function join(first: ChatAssistant, second: ChatAssistant): void {
  const text = (first.content ?? "") + (second.content ?? "");
  first.content = text === "" ? null : text;
  const thought = (first.reasoning_content ?? "") + (second.reasoning_content ?? "");
  if (thought !== "") first.reasoning_content = thought;
  const details = [...(first.reasoning_details ?? []), ...(second.reasoning_details ?? [])];
  if (details.length > 0) first.reasoning_details = details;
  const calls = [...(first.tool_calls ?? []), ...(second.tool_calls ?? [])];
  if (calls.length > 0) first.tool_calls = calls;
}
