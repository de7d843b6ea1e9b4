import {
  arrayOf,
  isObject,
  type JsonObject,
  type RequestBody,
} from "../../../core/plugin/index.ts";
import type { Reply } from "../errors.ts";
import { THOUGHTS } from "../messages/thoughts.ts";

/** The longest beginning of the task that stays. */
const TASK_CHARACTERS_MAX = 20_000;
const LEFT_OUT = "[The conversation is too long: a part of it is left out here.]";
/** `prompt is too long: 213462 tokens > 200000 maximum` */
const SIZES = /(\d+) tokens > (\d+) maximum/;
const SAFETY = 0.7;

/** A request for a summary of a conversation that does not fit: it goes out once more with a part of it. */
export class ShortenedConversation {
  /** The share of the conversation that is sent. */
  private share = 1;

  /**
   * Returns true the first time that a provider refuses the request because of its length, if more than one turn could go.
   * `refusal`: as the client reads it.
   */
  sendsAgain(refusal: Reply<object>, sent: RequestBody): boolean {
    const error = isObject(refusal.body) ? refusal.body["error"] : undefined;
    if (this.share < 1 || !isObject(error)) return false;
    if (error["code"] !== "context_length_exceeded") return false;
    const messages = messagesIn(sent);
    if (taskIn(messages) === messages.length - 1) return false;
    const [, tokens, window] = SIZES.exec(String(error["message"])) ?? [];
    this.share = SAFETY * Math.min(1, Number(window ?? 1) / Number(tokens ?? 1));
    return true;
  }

  /** Returns the body to send, in Messages or Chat. */
  fit(body: RequestBody): RequestBody {
    if (this.share === 1) return body;
    const fitted = body.copy();
    fitted.set("messages", shortened(messagesIn(body), this.share));
    return fitted;
  }
}

function messagesIn(body: RequestBody): JsonObject[] {
  return arrayOf(body.read("messages")).filter(isObject);
}

/** Returns the index of the user's first message. */
function taskIn(messages: readonly JsonObject[]): number {
  return messages.findIndex(({ role }) => role === "user");
}

/**
 * Keeps the system's messages, the user's first text and the last turns: at most this share of all characters. The first of
 * them is a reply, or the last turn without results, so that no result lacks its call. Thinking goes, as it may be bound to
 * what stood before it.
 */
function shortened(messages: readonly JsonObject[], share: number): JsonObject[] {
  const first = taskIn(messages);
  const head = messages.slice(0, first + 1).flatMap((message) => {
    const { role } = message;
    if (role !== "user") return role === "assistant" || role === "tool" ? [] : [message];
    const task = textIn(message).slice(0, TASK_CHARACTERS_MAX);
    return [{ role, content: `${task}\n\n${LEFT_OUT}` }];
  });
  const sizes = messages.map((message) => JSON.stringify(message).length);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  let left = all * share - JSON.stringify(head).length;
  let from: number | undefined;
  for (let at = messages.length - 1; at > first; at--) {
    left -= sizes[at] ?? 0;
    if (left < 0) break;
    if (messages[at]?.["role"] === "assistant") from = at;
  }
  const gone = from === undefined ? RESULTS : THOUGHTS;
  return [...head, ...messages.slice(from ?? -1).map((message) => without(message, gone))];
}

function textIn({ content }: JsonObject): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .filter(isObject)
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("\n");
}

function without(message: JsonObject, types: ReadonlySet<unknown>): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const kept = content.filter((block) => !isObject(block) || !types.has(block["type"]));
  return kept.length === content.length ? message : { ...message, content: kept };
}

const RESULTS = new Set<unknown>(["tool_result"]);
