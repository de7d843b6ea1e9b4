import { PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import { isObject, type JsonObject } from "../process/json.ts";
import { usesIn } from "../wire/features/find.ts";

/**
 * The facts by which an edit or a check sees that it changes nothing in a conversation whose turns are only text,
 * thinking and calls of tools. Plain data.
 */
export interface Turns {
  readonly count: number;
  readonly names: readonly string[];
  /** Names of the fields that calls in `tool_calls` have. */
  readonly callNames: readonly string[];
  readonly types: readonly string[];
  /** True if a part, or a turn of the assistant, is a text of white space alone. */
  readonly hasBlankText: boolean;
  readonly roles: Readonly<Record<string, number>>;
  readonly firstRole: string | undefined;
  readonly lastRole: string | undefined;
  /** As `openingOf` returns it. */
  readonly opening: string;
}

/** Parts and items that are text, thinking, or calls of tools with their results. No check or edit looks for files in them. */
const PLAIN_PARTS = new Set<unknown>([
  ...["text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking"],
  ...["summary_text", "reasoning_text", "tool_use", "tool_result"],
]);
const PLAIN_ITEMS = new Set<unknown>([
  ...[undefined, null, "message", "reasoning", "function_call", "function_call_output"],
  ...["custom_tool_call", "custom_tool_call_output"],
]);

/**
 * Returns the facts about a conversation, for code that does not read it again; undefined if it has more than text, thinking
 * and calls of tools, or an entry that is none.
 */
export function turnsOf(body: JsonObject, protocol: Protocol): Turns | undefined {
  const field = PROTOCOLS[protocol].conversation;
  const list = field && body[field];
  if (!field || !Array.isArray(list) || list.length === 0) return undefined;
  const seen = new Seen();
  for (const entry of list) if (!seen.turn(entry)) return undefined;
  // Stored by default, which the conversation does not say.
  if (usesIn({ [field]: list, store: false }, protocol, false).length > 0) return undefined;
  return seen.turns(list);
}

/** So many of the first texts of a user name a conversation, and so much of each. */
const OPENING_TEXTS_MAX = 8;
const OPENING_CHARACTERS_MAX = 256;

/**
 * Returns the beginnings of the texts with which the user opens a conversation; empty if there are none. They stay the
 * same while the conversation grows, wherever its client puts cache marks.
 */
export function openingOf(conversation: unknown): string {
  if (typeof conversation === "string") return conversation.slice(0, OPENING_CHARACTERS_MAX);
  if (!Array.isArray(conversation)) return "";
  const first: unknown = conversation.find((turn) => roleOf(turn) === "user");
  const content = isObject(first) ? first["content"] : undefined;
  if (typeof content === "string") return content.slice(0, OPENING_CHARACTERS_MAX);
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((part) => (isObject(part) ? [part["text"]] : []));
  return texts
    .filter((text) => typeof text === "string")
    .slice(0, OPENING_TEXTS_MAX)
    .map((text) => text.slice(0, OPENING_CHARACTERS_MAX))
    .join("");
}

function roleOf(turn: unknown): string | undefined {
  const role = isObject(turn) ? turn["role"] : undefined;
  return typeof role === "string" ? role : undefined;
}

class Seen {
  private readonly names = new Set<string>();
  private readonly callNames = new Set<string>();
  private readonly types = new Set<string>();
  private hasBlankText = false;
  private readonly roles = new Map<string, number>();

  /** Returns false if the turn has more than text, thinking and calls. */
  turn(turn: unknown): boolean {
    if (!isObject(turn)) return false;
    const { role, type } = turn;
    if (role !== undefined && typeof role !== "string") return false;
    if (!PLAIN_ITEMS.has(type)) return false;
    if (role !== undefined) this.roles.set(role, (this.roles.get(role) ?? 0) + 1);
    if (typeof type === "string") this.types.add(type);
    for (const name in turn) this.names.add(name);
    if (role === "assistant") this.note(turn["content"]);
    return this.calls(turn["tool_calls"]) && this.isPlain(turn["content"], turn["output"]);
  }

  private calls(calls: unknown): boolean {
    if (calls === undefined || calls === null) return true;
    // OpenAI refuses an empty list.
    if (!Array.isArray(calls) || calls.length === 0) return false;
    for (const call of calls) {
      if (!isObject(call)) return false;
      for (const name in call) this.callNames.add(name);
    }
    return true;
  }

  /** The nesting of a request is bounded, so that recursion has an end. */
  private isPlain(...contents: readonly unknown[]): boolean {
    for (const content of contents) {
      if (content === undefined || content === null || typeof content === "string") continue;
      if (!Array.isArray(content)) return false;
      for (const part of content) {
        if (!isObject(part) || !PLAIN_PARTS.has(part["type"])) return false;
        this.types.add(String(part["type"]));
        this.note(part["text"]);
        if (!this.isPlain(part["content"])) return false;
      }
    }
    return true;
  }

  private note(text: unknown): void {
    if (typeof text === "string" && !/\S/.test(text)) this.hasBlankText = true;
  }

  turns(list: readonly unknown[]): Turns {
    return {
      count: list.length,
      names: [...this.names],
      callNames: [...this.callNames],
      types: [...this.types],
      hasBlankText: this.hasBlankText,
      roles: Object.fromEntries(this.roles),
      firstRole: roleOf(list[0]),
      lastRole: roleOf(list.at(-1)),
      opening: openingOf(list),
    };
  }
}
