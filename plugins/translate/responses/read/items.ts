import { arrayOf, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { sentInputOf } from "../../arguments.ts";
import { HistoryToolIds } from "../../ids.ts";
import { textBlocks, userBlocks } from "../../messages/content.ts";
import type { Scope } from "../../messages/scope.ts";
import { isThought } from "../../messages/thoughts.ts";
import { isOfOpenAi, openReasoning } from "../../state/reasoning.ts";
import type {
  MessagesBlock,
  MessagesText,
  MessagesToolResult,
  MessagesToolUse,
  MessagesTurn,
} from "../../types.ts";
import type { ClientTools } from "./tools.ts";

const COMPACT_YOURSELF =
  "leave it out, and have the client summarize the conversation (Codex does with a provider of your own, in model_providers)";

const ONLY_ITS_OWN =
  "this model can read no compaction but one that this gateway has made for your account, unchanged";

const FOR_OPENAI =
  "only OpenAI's models can read this message: choose one of them, or another maker's model for the agent that sent it";

const UNREADABLE = "[encrypted: only OpenAI's models can read this]";

/** Reads the items of a Responses request into the turns of a Messages conversation. */
export class Items {
  /** System texts before the first turn. */
  readonly system: MessagesText[] = [];
  private readonly turns: MessagesTurn[] = [];
  private readonly ids = new HistoryToolIds();
  /** Calls without a result, by the client's id. */
  private readonly open = new Map<string, string>();
  /** The place of a message that this model cannot read, as long as nothing is said after it. */
  private unreadable: string | undefined;

  constructor(
    private readonly scope: Scope,
    private readonly tools: ClientTools,
  ) {}

  add(given: unknown, path: string): void {
    const { notes } = this.scope;
    const item = notes.element(given, path);
    if (!item) return;
    const type = item["type"] ?? "message";
    switch (type) {
      case "message":
        this.addMessage(item, path);
        return;
      case "agent_message":
        this.addAgentMessage(item, path);
        return;
      case "reasoning": {
        const block = openReasoning(item["encrypted_content"]);
        if (block) this.push("assistant", [block]);
        return;
      }
      case "function_call":
      case "custom_tool_call":
        this.push("assistant", [this.call(item, path, type === "custom_tool_call")]);
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        this.addResult(item, path);
        return;
      case "additional_tools":
      case "configuration_update":
      case "tool_search_output":
        return;
      case "compaction_trigger":
        notes.invalid(path, "must be the last item");
        return;
      case "compaction":
      case "context_compaction":
        // Without it, the model would have lost all that was said before. Older versions of Codex mark the place of one without
        // its content, too: openai/codex#23785.
        if (type === "compaction" || item["encrypted_content"] != null) {
          notes.unsupported(path, `${ONLY_ITS_OWN}: ${COMPACT_YOURSELF}`);
        } else notes.drop("context_compaction");
        return;
      default:
        // Items of tools that ran at another provider.
        notes.drop(typeof type === "string" ? type : "input");
    }
  }

  /** Returns the turns. Refuses a call without a result, and a task that the model cannot read: its reply would be of no use. */
  end(): MessagesTurn[] {
    if (this.unreadable !== undefined) this.scope.notes.unsupported(this.unreadable, FOR_OPENAI);
    const [id] = this.open.keys();
    if (id !== undefined) {
      this.scope.notes.invalid(
        "input",
        `no tool output found for function call ${id.slice(0, 128)}`,
      );
    }
    return this.turns.filter(({ content }) => !content.every(isThought));
  }

  private addMessage(item: JsonObject, path: string): void {
    const { notes } = this.scope;
    const content = this.parts(item["content"]);
    const where = `${path}.content`;
    switch (item["role"]) {
      case "user":
        this.push("user", userBlocks(content, where, this.scope));
        return;
      case "assistant":
        if (mediaOf(content).length > 0) notes.drop("input.content");
        this.push("assistant", textsOf(content));
        return;
      case "system":
      case "developer":
        if (this.turns.length === 0) this.system.push(...textsOf(content));
        else this.push("system", textsOf(content));
        // No system message has images or files.
        this.push("user", userBlocks(mediaOf(content), where, this.scope));
        return;
      default:
        notes.invalid(`${path}.role`, 'must be "user", "assistant", "system" or "developer"');
    }
  }

  /** Reads what an agent of Codex says to another: a task, a message or a result. */
  private addAgentMessage(item: JsonObject, path: string): void {
    const { content } = item;
    this.push("user", userBlocks(this.parts(content), `${path}.content`, this.scope));
    if (arrayOf(content).some(isForOpenAi)) this.unreadable = path;
  }

  /** Renames the parts of a content as Chat names them. */
  private parts(content: unknown): unknown {
    if (!Array.isArray(content)) return content;
    if (content.some(isForOpenAi)) this.scope.notes.drop("encrypted_content");
    return content.map(asChatPart);
  }

  private call(item: JsonObject, path: string, custom: boolean): MessagesToolUse {
    const { notes } = this.scope;
    const raw = notes.requiredString(item, "call_id", `${path}.call_id`);
    const id = this.ids.use(raw);
    this.open.set(raw, id);
    const given = notes.requiredString(item, "name", `${path}.name`);
    const name = this.tools.nameOf(given, item["namespace"]);
    const input = custom
      ? { input: notes.string(item, "input", `${path}.input`) ?? "" }
      : sentInputOf(item["arguments"], notes, `${path}.arguments`);
    return { type: "tool_use", id, name, input };
  }

  /** Puts a result right behind the turn with the calls: nothing may stand between them. */
  private addResult(item: JsonObject, path: string): void {
    const { notes } = this.scope;
    const raw = notes.requiredString(item, "call_id", `${path}.call_id`);
    const id = this.open.get(raw);
    if (id === undefined) {
      notes.invalid(`${path}.call_id`, `no tool call found with call_id ${raw.slice(0, 128)}`);
      return;
    }
    this.open.delete(raw);
    this.unreadable = undefined;
    const output = this.parts(item["output"]);
    const blocks = userBlocks(output, `${path}.output`, this.scope);
    const content = typeof output === "string" ? output : blocks;
    const result: MessagesToolResult = {
      ...{ type: "tool_result", tool_use_id: id },
      ...(blocks.length > 0 && { content }),
    };
    const at = this.turns.findLastIndex(({ role }) => role === "assistant") + 1;
    const next = this.turns[at];
    if (next?.role !== "user") {
      this.turns.splice(at, 0, { role: "user", content: [result] });
      return;
    }
    const results = next.content.filter(({ type }) => type === "tool_result").length;
    next.content.splice(results, 0, result);
  }

  /** Appends a turn, to the last one if it has the same role. */
  private push(role: MessagesTurn["role"], content: MessagesBlock[]): void {
    if (content.length === 0) return;
    if (!content.every(isThought)) this.unreadable = undefined;
    let last = this.turns.at(-1);
    // A call between the results of earlier ones belongs to their turn: all calls of a turn are answered in the next.
    const earlier = this.open.size - content.filter(({ type }) => type === "tool_use").length;
    const isBetween = role === "assistant" && earlier > 0 && last?.role === "user";
    if (isBetween && last?.content.every(({ type }) => type === "tool_result")) {
      last = this.turns.findLast((turn) => turn.role === "assistant");
    }
    if (last?.role !== role) this.turns.push({ role, content });
    else for (const block of content) last.content.push(block);
  }
}

function asChatPart(given: unknown): unknown {
  const part = objectOf(given);
  switch (part?.["type"]) {
    case "input_text":
    case "output_text":
      return { ...part, type: "text" };
    case "encrypted_content":
      // If the agent that has written it is not OpenAI's, it is the text itself: openai/codex#33551.
      return { type: "text", text: isForOpenAi(part) ? UNREADABLE : part["encrypted_content"] };
    case "refusal":
      return { type: "text", text: part["refusal"] };
    case "input_image":
      return {
        ...part,
        type: "image_url",
        image_url: { url: part["image_url"], detail: part["detail"] },
      };
    case "input_file": {
      const { prompt_cache_breakpoint, ...file } = part;
      return { type: "file", file, prompt_cache_breakpoint };
    }
    default:
      return given;
  }
}

function isForOpenAi(part: unknown): boolean {
  const { type, encrypted_content: content } = objectOf(part) ?? {};
  return type === "encrypted_content" && isOfOpenAi(content);
}

function mediaOf(content: unknown): unknown[] {
  return arrayOf(content).filter((part) => typeof objectOf(part)?.["text"] !== "string");
}

function textsOf(content: unknown): MessagesText[] {
  if (typeof content === "string") return textBlocks(content);
  return arrayOf(content).flatMap((part) => {
    const text = objectOf(part)?.["text"];
    return typeof text === "string" ? textBlocks(text) : [];
  });
}
