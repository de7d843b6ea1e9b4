import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  type Profile,
} from "../../../core/plugin/index.ts";
import type { Draft } from "./draft.ts";

/** Fields of messages that every server knows. */
const MESSAGE_FIELDS = ["role", "content", "tool_calls", "tool_call_id", "name", "prefix"];
/** Fields of messages that clients send back as null, and that only some servers know. */
const RARE_FIELDS = ["refusal", "audio", "function_call"];
/**
 * Fields in which a reply carries state, with the value of `replay` for models that want the state
 * back.
 */
const STATE_FIELDS = new Map<string, Profile["replay"]>([
  ["reasoning_content", "reasoning_content"],
  ["reasoning_details", "reasoning_details"],
  ["reasoning", undefined],
]);

/** Edits roles and system messages. */
export function editRoles(draft: Draft): void {
  const { developer_role, system_messages, mid_system } = draft.profile;
  const { roles, firstRole } = draft.unread ?? {};
  if (developer_role === "system" && (!roles || roles["developer"])) {
    draft.editEntries("messages", (message) =>
      message["role"] === "developer" ? { ...message, role: "system" } : message,
    );
  }
  // Only one system message, and it comes first.
  const hasHead = draft.unread && firstRole === "system" && roles?.["system"] === 1;
  const hasNone = draft.unread && !roles?.["system"];
  if (hasHead || hasNone) return;
  if (system_messages === "one") joinHeads(draft);
  if (mid_system === "user") {
    let begun = false;
    draft.editEntries("messages", (message) => {
      if (message["role"] !== "system") begun = true;
      if (!begun || message["role"] !== "system") return message;
      const content = `<system-reminder>${textOf(message["content"])}</system-reminder>`;
      return { role: "user", content };
    });
  }
}

/** Joins the system messages before the conversation by blank lines. */
function joinHeads(draft: Draft): void {
  const messages = draft.entries("messages");
  const end = messages.findIndex((message) => objectOf(message)?.["role"] !== "system");
  const heads = end < 0 ? messages : messages.slice(0, end);
  if (heads.length < 2) return;
  const content = heads.map((head) => textOf(objectOf(head)?.["content"])).join("\n\n");
  draft.set("messages", [{ role: "system", content }, ...messages.slice(heads.length)]);
}

/** Adds a sentence to the first system message, or in front of the conversation. */
export function addToHead(draft: Draft, sentence: string): void {
  const [first, ...rest] = draft.entries("messages");
  const head = objectOf(first);
  const isSystem = head?.["role"] === "system" || head?.["role"] === "developer";
  if (head && isSystem) {
    const content = `${textOf(head["content"])}\n\n${sentence}`;
    draft.set("messages", [{ ...head, content }, ...rest]);
  } else {
    draft.set("messages", [{ role: "system", content: sentence }, ...draft.entries("messages")]);
  }
}

/**
 * Leaves out lists of calls that are empty, as Cursor and some libraries send them: OpenAI refuses them. A conversation that has
 * one is always read.
 */
export function dropEmptyCalls(draft: Draft): void {
  if (draft.unread) return;
  draft.editEntries("messages", (message) => {
    const { tool_calls: calls } = message;
    const isEmpty = Array.isArray(calls) && calls.length === 0;
    return isEmpty ? filtered(message, (name) => name !== "tool_calls") : message;
  });
}

/**
 * Adds to earlier turns the state that the model wants back, and removes the state that it refuses.
 */
export function editReplay(draft: Draft): void {
  const { replay, replay_fill: fill } = draft.profile;
  leaveForeignState(draft);
  const { names } = draft.unread ?? {};
  if (replay === "none") {
    if (names?.every((name) => MESSAGE_FIELDS.includes(name))) return;
    draft.editEntries("messages", (message) =>
      filtered(
        message,
        (name) =>
          MESSAGE_FIELDS.includes(name) || (RARE_FIELDS.includes(name) && message[name] != null),
      ),
    );
  } else if (replay === "reasoning_content" && fill !== undefined) {
    fillReasoning(draft, fill);
  } else if (replay === "thought_signature" && fill !== undefined) {
    fillSignatures(draft, fill);
  }
}

/**
 * Leaves out the state of other makers: thought signatures are Google's, blocks of thinking
 * Claude's. A model whose profile states which field it wants back gets no reasoning in other
 * fields.
 */
function leaveForeignState(draft: Draft): void {
  const { maker, replay } = draft.profile;
  const isForeign = (name: string): boolean => {
    if (name === "thinking_blocks") return maker !== undefined && maker !== "anthropic";
    if (name === "extra_content") return maker !== undefined && maker !== "google";
    return STATE_FIELDS.has(name) && replay !== undefined && STATE_FIELDS.get(name) !== replay;
  };
  const { names, callNames } = draft.unread ?? {};
  if (names && callNames && !names.some(isForeign) && !callNames.some(isForeign)) return;
  draft.editEntries("messages", (message) => {
    if (message["role"] !== "assistant") return message;
    const own = filtered(message, (name) => !isForeign(name));
    const calls = callsOf(own);
    if (calls.length === 0) return own;
    const kept = calls.map((call) => {
      return isObject(call) ? filtered(call, (name) => !isForeign(name)) : call;
    });
    return kept.every((call, at) => call === calls[at]) ? own : { ...own, tool_calls: kept };
  });
}

/**
 * An empty fill is added to all turns of the assistant, any other fill only to those with calls.
 */
function fillReasoning(draft: Draft, fill: string): void {
  draft.editEntries("messages", (message) => {
    if (message["role"] !== "assistant") return message;
    const { reasoning_content: own } = message;
    if (typeof own === "string" && (own !== "" || fill === "")) return message;
    if (fill !== "" && callsOf(message).length === 0) return message;
    return { ...message, reasoning_content: fill };
  });
}

/** The first call of each step of the running turn must have a signature. */
function fillSignatures(draft: Draft, fill: string): void {
  const messages = draft.entries("messages");
  const start = messages.findLastIndex((message) => objectOf(message)?.["role"] === "user");
  draft.editEntries("messages", (message, at) => {
    const [first, ...rest] = callsOf(message);
    if (at < start || !isObject(first)) return message;
    const extra = objectOf(first["extra_content"]) ?? {};
    const google = objectOf(extra["google"]) ?? {};
    if (typeof google["thought_signature"] === "string") return message;
    const extra_content = { ...extra, google: { ...google, thought_signature: fill } };
    return { ...message, tool_calls: [{ ...first, extra_content }, ...rest] };
  });
}

/** Moves the text of a user message that follows a tool message into the result. */
export function joinAfterTools(draft: Draft): void {
  if (draft.profile.user_after_tool !== false) return;
  const joined: unknown[] = [];
  for (const entry of draft.entries("messages")) {
    const message = objectOf(entry);
    const last = objectOf(joined.at(-1));
    if (message?.["role"] === "user" && last?.["role"] === "tool") {
      const content = together(last["content"], message["content"]);
      joined[joined.length - 1] = { ...last, content };
    } else joined.push(entry);
  }
  if (joined.length !== draft.entries("messages").length) draft.set("messages", joined);
}

/** Joins two contents: to one text, or to a list of parts if there is an image among them. */
function together(one: unknown, other: unknown): unknown {
  if (!hasMedia(one) && !hasMedia(other)) return `${textOf(one)}\n\n${textOf(other)}`;
  const parts = (content: unknown) =>
    typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content);
  return [...parts(one), ...parts(other)];
}

function hasMedia(content: unknown): boolean {
  return arrayOf(content).some((part) => objectOf(part)?.["type"] !== "text");
}

function callsOf(message: JsonObject): readonly unknown[] {
  return arrayOf(message["tool_calls"]);
}

/** Returns the fields of the object that are kept; the object itself if all are. */
function filtered(object: JsonObject, isKept: (name: string) => boolean): JsonObject {
  for (const name in object) if (!isKept(name)) return keptOf(object, isKept);
  return object;
}

function keptOf(object: JsonObject, isKept: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => isKept(name)));
}

/** Joins the texts of a content value. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .map((part) => objectOf(part)?.["text"])
    .filter((text) => typeof text === "string")
    .join("\n");
}
