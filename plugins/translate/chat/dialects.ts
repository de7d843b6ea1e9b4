import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  type Refusal,
  type RequestBody,
  refuse,
} from "../../../core/plugin/index.ts";
import { argumentsOf } from "../arguments.ts";
import { nestedFormat } from "../reply-format.ts";

/** This thread rewrites the whole body, and all other calls wait. */
const REWRITTEN_BYTES_MAX = 4 * 1_048_576;

/** Fields of Responses that would need a stored reply. */
const STORED = ["previous_response_id", "conversation", "prompt", "background"];

/** Fields of Responses that Chat has under another name, or not at all. */
const LEFT = new Set([
  ...["input", "instructions", "reasoning", "text", "max_output_tokens", "include", "truncation"],
  ...["max_tool_calls", "store", ...STORED],
]);

/**
 * Turns a request that Cursor sends to Chat Completions into one of Chat. With an address of one's own, Cursor writes it as the
 * maker that the model's name suggests would read it: input and tools of Responses, or tools and blocks of Messages. The reply
 * must be one of Chat. Sources: BerriAI/litellm#34029, Soju06/codex-lb#833, router-for-me/CLIProxyAPI#3805.
 */
export function readDialect(body: RequestBody): Refusal | undefined {
  const { messages, input } = body.outline;
  const hasInput = messages == null && input != null;
  const tools = arrayOf(body.read("tools"));
  if (!hasInput && !tools.some(isFlatFunction)) return undefined;
  if (body.length > REWRITTEN_BYTES_MAX) {
    return refuse.badRequest("messages: a list of messages of Chat Completions is required", {
      param: "messages",
    });
  }
  if (tools.length > 0) body.set("tools", tools.map(chatTool));
  body.set("tool_choice", chatChoice(body.read("tool_choice")));
  if (!hasInput) {
    body.set("messages", arrayOf(body.read("messages")).flatMap(chatMessages));
    return undefined;
  }
  return readInput(body);
}

/** Turns the fields of Responses into those of Chat. */
function readInput(body: RequestBody): Refusal | undefined {
  const { instructions, reasoning, text, max_output_tokens: limit } = body.outline;
  const stored = STORED.find((name) => body.outline[name]);
  if (stored !== undefined) {
    const message = `${stored}: nothing is stored: send the whole conversation`;
    return refuse.badRequest(message, { param: stored, code: "unsupported_parameter" });
  }
  const system = typeof instructions === "string" && instructions !== "";
  const messages = messagesOfInput(body.read("input"));
  for (const name of LEFT) body.set(name, undefined);
  body.set("messages", [
    ...(system ? [{ role: "system", content: instructions }] : []),
    ...messages,
  ]);
  const { format, verbosity } = objectOf(text) ?? {};
  const given = {
    max_completion_tokens: limit,
    reasoning_effort: objectOf(reasoning)?.["effort"],
    response_format: isObject(format) ? nestedFormat(format) : undefined,
    verbosity,
  };
  for (const [name, value] of Object.entries(given)) if (value != null) body.set(name, value);
  return undefined;
}

function messagesOfInput(input: unknown): JsonObject[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  const messages: JsonObject[] = [];
  for (const item of arrayOf(input)) addItem(messages, objectOf(item) ?? {});
  return messages;
}

/** Adds the message of an item. Calls in a row are one message, with the text before them. */
function addItem(messages: JsonObject[], item: JsonObject): void {
  const { type = "message", role, content, call_id: id, name, output } = item;
  switch (type) {
    case "message":
      messages.push({ role, content: Array.isArray(content) ? content.map(chatPart) : content });
      return;
    case "function_call":
      addCall(messages, functionCall(id, name, item["arguments"]));
      return;
    case "custom_tool_call":
      addCall(messages, { id, type: "custom", custom: { name, input: item["input"] } });
      return;
    case "function_call_output":
    case "custom_tool_call_output": {
      const parts = Array.isArray(output) ? output.map(chatPart) : output;
      messages.push({ role: "tool", tool_call_id: id, content: parts });
    }
  }
}

function addCall(messages: JsonObject[], call: JsonObject): void {
  const last = messages.at(-1);
  const before = last?.["role"] === "assistant" ? messages.pop() : undefined;
  const { content = null, tool_calls: calls } = before ?? {};
  messages.push({ role: "assistant", content, tool_calls: [...arrayOf(calls), call] });
}

function functionCall(id: unknown, name: unknown, args: unknown): JsonObject {
  return { id, type: "function", function: { name, arguments: args } };
}

/** Returns true for a function with its name beside its type, or without one: Responses and Messages have it so. */
function isFlatFunction(entry: unknown): boolean {
  const tool = objectOf(entry);
  if (!tool || typeof tool["name"] !== "string") return false;
  const isOfMessages = objectOf(tool["input_schema"]) !== undefined;
  const { type = "function" } = tool;
  return type === "function" || (type === "custom" && isOfMessages);
}

/** A custom tool of Responses stays: its calls go back in another form. */
function chatTool(entry: unknown): unknown {
  if (!isFlatFunction(entry)) return entry;
  const {
    type: _,
    name,
    description,
    input_schema,
    parameters = input_schema,
    strict,
    ...rest
  } = objectOf(entry) ?? {};
  const named = {
    name,
    ...(description != null && { description }),
    ...(parameters != null && { parameters }),
  };
  return {
    ...rest,
    type: "function",
    function: { ...named, ...(strict != null && { strict }) },
  };
}

function chatChoice(choice: unknown): unknown {
  const { type, name } = objectOf(choice) ?? {};
  switch (type) {
    case "auto":
    case "none":
      return type;
    case "any":
      return "required";
    case "tool":
      return { type: "function", function: { name } };
    case "function":
    case "custom":
      return name === undefined ? choice : { type, [type]: { name } };
    default:
      return choice;
  }
}

/** Returns the messages of Chat for one with blocks of Messages: results of tools are messages of their own, and come first. */
function chatMessages(entry: unknown): unknown[] {
  const message = objectOf(entry);
  const content = message?.["content"];
  if (!message || !Array.isArray(content)) return [entry];
  const blocks: readonly JsonObject[] = content.filter(isObject);
  const ofType = (type: string) => blocks.filter((block) => block["type"] === type);
  const parts = blocks.filter(({ type }) => !MOVED.has(type)).map(chatPart);
  const results = ofType("tool_result").map(({ tool_use_id: id, content }) => ({
    ...{ role: "tool", tool_call_id: id },
    content: Array.isArray(content) ? content.map(chatPart) : (content ?? ""),
  }));
  const calls = ofType("tool_use").map(({ id, name, input }) =>
    functionCall(id, name, argumentsOf(input)),
  );
  if (calls.length > 0) {
    return [{ ...message, content: parts.length > 0 ? parts : null, tool_calls: calls }];
  }
  const rest = parts.length > 0 || results.length === 0 ? [{ ...message, content: parts }] : [];
  return [...results, ...rest];
}

/** Blocks of Messages that are no parts of a message of Chat. Thinking is not taken back. */
const MOVED = new Set<unknown>(["tool_use", "tool_result", "thinking", "redacted_thinking"]);

/** Names a part of Responses or Messages as Chat does. */
function chatPart(entry: unknown): unknown {
  const part = objectOf(entry) ?? {};
  switch (part["type"]) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part["text"] };
    case "input_image":
      return { type: "image_url", image_url: { url: part["image_url"], ...detailOf(part) } };
    case "input_file": {
      const { type: _, ...file } = part;
      return { type: "file", file };
    }
    case "image": {
      const { type, media_type, data, url } = objectOf(part["source"]) ?? {};
      const address = type === "base64" ? `data:${media_type};base64,${data}` : url;
      return { type: "image_url", image_url: { url: address } };
    }
    default:
      return entry;
  }
}

function detailOf({ detail }: JsonObject): JsonObject {
  return detail == null ? {} : { detail };
}
