import type { JsonObject } from "../../../../core/plugin/index.ts";
import { argumentsOf } from "../../arguments.ts";
import { asFailure, resultParts, summaryOf, userParts } from "../../chat/write/content.ts";
import type { Scope } from "../../chat/write/scope.ts";
import { asSystemContent, systemTexts } from "../../chat/write/system.ts";
import { noteFields } from "../../chat/write/turns.ts";
import { toChatToolId } from "../../ids.ts";
import { OpenCalls } from "../../messages/open-calls.ts";
import { isServerBlock } from "../../messages/server-blocks.ts";
import { withoutToolChanges } from "../../messages/tool-changes.ts";
import type { ChatPart, ChatText } from "../../types.ts";
import { CALL_ID_CHARS_MAX } from "./items.ts";

/** Translates the turns of a Messages conversation into the items of a Responses request. */
export class InputItems {
  readonly items: JsonObject[] = [];
  /** System texts that move to the instructions. */
  readonly hoisted: ChatText[] = [];
  /** Ids of the calls that have no result yet. */
  private readonly open: OpenCalls;
  /** True if something came after the last turn of the assistant: only then are its calls to have results. */
  private between = false;
  /** The last text of the assistant since the user has spoken or brought results. */
  private last: JsonObject = {};
  /** True if the assistant has called a tool since then. */
  private hasCalled = false;

  constructor(private readonly scope: Scope) {
    this.open = new OpenCalls(scope.notes);
  }

  add(given: unknown, path: string): void {
    const { notes } = this.scope;
    const turn = notes.element(given, path);
    if (!turn) return;
    const content = asBlocks(turn["content"]);
    const where = `${path}.content`;
    noteFields(turn, this.scope);
    if (turn["role"] !== "assistant") this.between = true;
    if (turn["role"] === "user") {
      this.last = {};
      this.hasCalled = false;
    }
    if (turn["role"] === "system") this.addSystem(withoutToolChanges(turn["content"]), where);
    else if (!Array.isArray(content)) {
      notes.invalid(where, "must be a string or an array of blocks");
    } else if (turn["role"] === "user") this.addUser(content, where);
    else if (turn["role"] === "assistant") this.addAssistant(content, where);
    else notes.invalid(`${path}.role`, 'must be "user" or "assistant"');
  }

  /** Refuses a call without a result. */
  end(): void {
    this.open.close();
  }

  private addSystem(content: unknown, path: string): void {
    const texts = systemTexts(content, path, this.scope);
    if (texts.length === 0) return;
    if (this.scope.profile.mid_system === "hoist") {
      for (const text of texts) this.hoisted.push(text);
    } else this.items.push({ role: "developer", content: asSystemContent(texts, false) });
  }

  private addUser(content: readonly unknown[], path: string): void {
    for (const [at, item] of content.entries()) {
      const where = `${path}[${at}]`;
      const block = this.scope.notes.element(item, where);
      if (block?.["type"] === "tool_result") this.addResult(block, where);
    }
    const parts = userParts(content, path, this.scope).map(inputPart);
    if (parts.length > 0) this.items.push({ role: "user", content: parts });
  }

  private addResult(block: JsonObject, path: string): void {
    const { notes } = this.scope;
    const id = notes.requiredString(block, "tool_use_id", `${path}.tool_use_id`);
    this.open.take(id, path);
    if (block["cache_control"] != null) notes.drop("cache_control");
    const parts = resultParts(block["content"], `${path}.content`, this.scope);
    const texts = parts.filter((part) => part.type === "text");
    const text = texts.map((part) => part.text).join("\n");
    // The texts are one string.
    const isMarked = texts.some((part) => part.prompt_cache_breakpoint !== undefined);
    if (isMarked) notes.drop("prompt_cache_breakpoint");
    const failed = notes.boolean(block, "is_error", `${path}.is_error`) === true;
    const said = failed ? asFailure(text) : text;
    const media = parts.filter((part) => part.type !== "text").map(inputPart);
    const words = said === "" ? [] : [{ type: "input_text", text: said }];
    this.items.push({
      type: "function_call_output",
      call_id: toChatToolId(id, CALL_ID_CHARS_MAX),
      output: media.length === 0 ? said : [...words, ...media],
    });
  }

  private addAssistant(content: readonly unknown[], path: string): void {
    if (this.between) this.end();
    this.between = false;
    const { notes } = this.scope;
    // Reasoning that waits for the next item: the provider refuses reasoning that nothing follows.
    let reasoning: JsonObject[] = [];
    const push = (item: JsonObject) => {
      this.items.push(...reasoning, item);
      reasoning = [];
    };
    const say = (text: string) => {
      if (text === "") return;
      this.goOn();
      const item = { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
      const phase = this.hasCalled ? "commentary" : "final_answer";
      const said = this.scope.profile.maker === "openai" ? { ...item, phase } : item;
      push(said);
      this.last = said;
    };
    for (const [at, given] of content.entries()) {
      const where = `${path}[${at}]`;
      const block = notes.element(given, where);
      if (!block) continue;
      switch (block["type"]) {
        case "text":
          say(notes.string(block, "text", `${where}.text`) ?? "");
          break;
        case "thinking":
          reasoning.push(...this.reasoning(block));
          break;
        case "tool_use":
          this.goOn();
          this.hasCalled = true;
          push(this.call(block, where));
          break;
        case "compaction":
          say(summaryOf(block));
          break;
        case "fallback":
          notes.drop("messages.content.fallback");
          break;
        default:
          if (!isServerBlock(block["type"])) {
            notes.unsupported(`${where}.type`, "this block cannot be translated");
          }
      }
    }
  }

  /** More follows the text so far. If it counts as final, GPT takes it for its last words, and stops early. OpenAI docs: MessagePhase. */
  private goOn(): void {
    if ("phase" in this.last) this.last["phase"] = "commentary";
  }

  /** Returns the maker's own reasoning as it gave it. Another maker's reasoning is dropped. */
  private reasoning({ signature, thinking }: JsonObject): JsonObject[] {
    const text = typeof thinking === "string" ? thinking : "";
    const state = typeof signature === "string" && this.scope.state?.open(signature, text);
    return state ? [{ type: "reasoning", summary: [], encrypted_content: state }] : [];
  }

  private call(block: JsonObject, path: string): JsonObject {
    const { names, profile } = this.scope;
    const { id, name, input } = this.open.add(block, path);
    return {
      type: "function_call",
      call_id: toChatToolId(id, CALL_ID_CHARS_MAX),
      name: names.forChat(name, profile.tool_name_max),
      arguments: argumentsOf(input),
    };
  }
}

function asBlocks(content: unknown): unknown {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Writes a part of a user's message, or of a result, as Responses names it. */
function inputPart(part: ChatPart): JsonObject {
  const { prompt_cache_breakpoint } = part;
  const marked = prompt_cache_breakpoint !== undefined && { prompt_cache_breakpoint };
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text, ...marked };
    case "image_url": {
      const { url, detail = "auto" } = part.image_url;
      return { type: "input_image", detail, image_url: url, ...marked };
    }
    case "file":
      return { type: "input_file", ...part.file, ...marked };
  }
}
