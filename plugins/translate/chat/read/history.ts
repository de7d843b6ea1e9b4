import type { JsonObject } from "../../../../core/plugin/index.ts";
import { sentInputOf } from "../../arguments.ts";
import { HistoryToolIds } from "../../ids.ts";
import { textBlocks, textOnlyBlocks, userBlocks } from "../../messages/content.ts";
import { isGiven, mark, markOf, type Scope, withoutNulls } from "../../messages/scope.ts";
import type {
  MessagesBlock,
  MessagesText,
  MessagesThinking,
  MessagesToolResult,
  MessagesToolUse,
  MessagesTurn,
} from "../../types.ts";

/**
 * Converts the messages of a Chat request to alternating turns. System messages become separate
 * entries, which `arrange` moves to positions that the upstream accepts.
 */
export class History {
  readonly turns: MessagesTurn[] = [];
  /** System texts before the conversation. */
  readonly head: MessagesText[] = [];
  /** Names of the called tools, as sent to the upstream. */
  readonly calledNames = new Set<string>();
  /** True after the first message that is not a system message, even if it is empty. */
  hasConversation = false;
  private readonly ids = new HistoryToolIds();
  /** Upstream ids of the calls without a result, by the client's id. */
  private readonly open = new Map<string, string>();
  /** Client id of the legacy function call that has no function message yet. */
  private legacy: string | undefined = undefined;

  constructor(private readonly scope: Scope) {}

  add(item: unknown, at: number): void {
    const path = `messages[${at}]`;
    const message = this.scope.notes.element(item, path);
    if (!message) return;
    const role = message["role"];
    if (isGiven(message["name"]) && role !== "function") this.scope.notes.drop("messages.name");
    if (role === "system" || role === "developer") {
      this.addSystem(message, path);
      return;
    }
    this.hasConversation = true;
    switch (role) {
      case "user":
        this.requireAnswers();
        this.addUser(message, path);
        return;
      case "assistant":
        this.addAssistant(message, at, path);
        return;
      case "tool":
        this.addAnswer(this.takeOpen(message, path), message, path);
        return;
      case "function":
        this.addAnswer(this.takeLegacy(path), message, path);
        return;
      default:
        this.scope.notes.invalid(`${path}.role`, "is not a valid role");
    }
  }

  end(): void {
    this.requireAnswers();
  }

  private addSystem(message: JsonObject, path: string): void {
    const where = `${path}.content`;
    const texts = textOnlyBlocks(message["content"], ["text"], where, this.scope);
    this.marked(texts, message, path);
    if (!this.hasConversation) for (const text of texts) this.head.push(text);
    else if (texts.length > 0) this.push("system", texts);
  }

  private addUser(message: JsonObject, path: string): void {
    const blocks = userBlocks(message["content"], `${path}.content`, this.scope);
    this.marked(blocks, message, path);
    this.push("user", blocks);
  }

  private addAssistant(message: JsonObject, at: number, path: string): void {
    const { notes } = this.scope;
    if (this.open.size > 0 && this.turns.at(-1)?.role !== "assistant") this.requireAnswers();
    if (isGiven(message["audio"])) notes.unsupported(`${path}.audio`, "cannot be translated");
    const blocks: MessagesBlock[] = [...this.thinking(message, path)];
    const types = ["text", "refusal"];
    let texts = textOnlyBlocks(message["content"], types, `${path}.content`, this.scope);
    const refusal = notes.string(message, "refusal", `${path}.refusal`);
    if (texts.length === 0 && refusal !== undefined) texts = textBlocks(refusal);
    for (const text of texts) blocks.push(text);
    const calls = notes.array(message, "tool_calls", `${path}.tool_calls`) ?? [];
    const ownIds = new Set<string>();
    for (const [index, call] of calls.entries()) {
      const use = this.call(call, `${path}.tool_calls[${index}]`, ownIds);
      if (use) blocks.push(use);
    }
    const legacy = notes.object(message, "function_call", `${path}.function_call`);
    if (legacy) {
      const id = `call_fn_${at}`;
      const name = notes.requiredString(legacy, "name", `${path}.function_call.name`);
      this.legacy = id;
      const input = sentInputOf(legacy["arguments"], notes, `${path}.function_call.arguments`);
      blocks.push(this.use(id, name, input));
    }
    this.marked(blocks, message, path);
    this.push("assistant", blocks);
  }

  /** Returns the signed thinking of a message. The upstream refuses unsigned thinking. */
  private thinking(message: JsonObject, path: string): MessagesThinking[] {
    const given = this.scope.notes.array(message, "thinking_blocks", `${path}.thinking_blocks`);
    return (given ?? []).flatMap((item, at) => {
      const where = `${path}.thinking_blocks`;
      const given = this.scope.notes.element(item, `${where}[${at}]`);
      const block = given && withoutNulls(given);
      return block && isVerifiable(block) ? [block] : [];
    });
  }

  private call(item: unknown, path: string, ownIds: Set<string>): MessagesToolUse | undefined {
    const { notes } = this.scope;
    const call = notes.element(item, path);
    if (!call) return undefined;
    const id = notes.requiredString(call, "id", `${path}.id`);
    if (ownIds.has(id)) notes.invalid(`${path}.id`, "is used by two calls");
    ownIds.add(id);
    if (call["type"] === "custom") {
      const custom = notes.element(call["custom"], `${path}.custom`);
      if (!custom) return undefined;
      const name = notes.requiredString(custom, "name", `${path}.custom.name`);
      const input = notes.string(custom, "input", `${path}.custom.input`) ?? "";
      return this.use(id, name, { input });
    }
    if (isGiven(call["type"]) && call["type"] !== "function") {
      notes.unsupported(`${path}.type`, "this kind of call cannot be translated");
      return undefined;
    }
    const called = notes.element(call["function"], `${path}.function`);
    if (!called) return undefined;
    const name = notes.requiredString(called, "name", `${path}.function.name`);
    if (this.scope.textTools?.has(name)) {
      const input = notes.string(called, "arguments", `${path}.function.arguments`) ?? "";
      return this.use(id, name, { input });
    }
    return this.use(
      id,
      name,
      sentInputOf(called["arguments"], notes, `${path}.function.arguments`),
    );
  }

  private use(raw: string, clientName: string, input: JsonObject): MessagesToolUse {
    const id = this.ids.use(raw);
    const name = this.scope.names.forMessages(clientName);
    if (this.open.has(raw)) this.requireAnswers();
    this.open.set(raw, id);
    this.calledNames.add(name);
    return { type: "tool_use", id, name, input };
  }

  private takeOpen(message: JsonObject, path: string): string | undefined {
    const where = `${path}.tool_call_id`;
    const raw = this.scope.notes.requiredString(message, "tool_call_id", where);
    const id = this.open.get(raw);
    if (id === undefined) {
      const why = "matches no open tool call of the previous assistant message";
      this.scope.notes.invalid(where, `${raw.slice(0, 128)} ${why}`);
    }
    this.open.delete(raw);
    return id;
  }

  private takeLegacy(path: string): string | undefined {
    const raw = this.legacy;
    const id = raw === undefined ? undefined : this.open.get(raw);
    if (raw === undefined || id === undefined) {
      this.scope.notes.invalid(path, "matches no function call of the previous assistant message");
      return undefined;
    }
    this.legacy = undefined;
    this.open.delete(raw);
    return id;
  }

  private addAnswer(id: string | undefined, message: JsonObject, path: string): void {
    if (id === undefined) return;
    const result: MessagesToolResult = { type: "tool_result", tool_use_id: id };
    const content = message["content"];
    const blocks = userBlocks(content, `${path}.content`, this.scope);
    if (typeof content === "string") {
      if (blocks.length > 0) result.content = content;
    } else if (blocks.length > 0) {
      result.content = blocks;
    }
    const cached = markOf(message, path, this.scope);
    // The upstream accepts cache marks on a result, but not inside of it.
    for (const block of blocks) {
      if (block.cache_control) result.cache_control = block.cache_control;
      delete block.cache_control;
    }
    if (cached) result.cache_control = cached;
    this.push("user", [result]);
  }

  private requireAnswers(): void {
    if (this.open.size === 0) return;
    const ids = [...this.open.keys()].slice(0, 8).map((id) => id.slice(0, 128));
    const why = "these tool calls have no tool message with their result";
    this.scope.notes.invalid("messages", `${why}: ${ids.join(", ")}`);
    this.open.clear();
  }

  /** Moves the cache mark of a message to its last block. */
  private marked(blocks: readonly MessagesBlock[], message: JsonObject, path: string): void {
    const last = blocks.at(-1);
    if (!last || last.type === "thinking" || last.type === "redacted_thinking") return;
    mark(last, message, path, this.scope);
  }

  /**
   * Appends a turn, or merges it with the last turn if that has the same role. Ignores an empty
   * turn.
   */
  private push(role: MessagesTurn["role"], content: MessagesBlock[]): void {
    if (content.length === 0) return;
    const last = this.turns.at(-1);
    if (last?.role !== role) this.turns.push({ role, content });
    else for (const block of content) last.content.push(block);
  }
}

function isVerifiable(block: JsonObject): block is MessagesThinking {
  if (block["type"] === "redacted_thinking") return isText(block["data"]);
  const { type, thinking, signature } = block;
  return type === "thinking" && typeof thinking === "string" && isText(signature);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
