import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  parseJson,
} from "../../../core/process/json.ts";
import { type OriginalNames, originalName } from "../../../plugins/translate/names.ts";

/**
 * The meaning of a conversation in either protocol: two requests mean the same if these are deeply
 * equal. Left out on purpose: how text is split into blocks or parts, blank text, consecutive turns
 * of one role, ids that only pair calls with results, and hints that only one side supports.
 */
export interface Meaning {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly unknown[];
  /** auto, none, any, or the name of a tool. */
  readonly choice: string;
  readonly oneCallAtATime: boolean;
  readonly cap: unknown;
  readonly temperature: unknown;
  readonly stops: readonly unknown[];
  readonly stream: boolean;
}

interface Turn {
  readonly role: string;
  /**
   * For a user: results by the position of their calls in the turn before, then text and images.
   */
  readonly results: unknown[];
  /** Texts and images; consecutive texts of an assistant are one. */
  readonly parts: unknown[];
  readonly calls: unknown[];
}

/** The original name of a tool that had to be renamed. */
type Original = (name: unknown) => string;

export function originalNames(...maps: readonly OriginalNames[]): Original {
  return (name) => maps.reduce((known, map) => originalName(map, known), String(name));
}

export function meaningOfMessages(body: JsonObject, original: Original): Meaning {
  const turns = new Turns();
  let system = textsOf(body["system"]);
  for (const message of arrayOf(body["messages"]).filter(isObject)) {
    const content = message["content"];
    const blocks =
      typeof content === "string"
        ? [{ type: "text", text: content }]
        : arrayOf(content).filter(isObject);
    const role = String(message["role"]);
    if (role === "system") {
      system = [...system, ...textsOf(content)];
      continue;
    }
    for (const block of blocks) {
      switch (block["type"]) {
        case "text":
          turns.say(role, block["text"]);
          break;
        case "image":
          turns.show(role, pictureOf(objectOf(block["source"]) ?? {}));
          break;
        case "tool_use":
          turns.call(role, block["id"], original(block["name"]), block["input"]);
          break;
        case "tool_result": {
          const result = textsOf(block["content"]).join("\n");
          turns.answer(block["tool_use_id"], block["is_error"] === true ? failure(result) : result);
          break;
        }
      }
    }
  }
  const choice = objectOf(body["tool_choice"]);
  const kind = String(choice?.["type"] ?? "auto");
  return {
    system: system.join("\n\n"),
    turns: turns.done(),
    tools: arrayOf(body["tools"])
      .filter(isObject)
      .map((tool) => [original(tool["name"]), tool["description"], tool["input_schema"]]),
    choice: kind === "tool" ? `tool ${original(choice?.["name"])}` : kind,
    oneCallAtATime: choice?.["disable_parallel_tool_use"] === true,
    cap: body["max_tokens"],
    temperature: body["temperature"],
    stops: stopsOf(body["stop_sequences"]),
    stream: body["stream"] === true,
  };
}

export function meaningOfChat(body: JsonObject, original: Original): Meaning {
  const turns = new Turns();
  const system: string[] = [];
  for (const message of arrayOf(body["messages"]).filter(isObject)) {
    const role = String(message["role"]);
    const content = message["content"];
    if (role === "system") system.push(...textsOf(content));
    else if (role === "tool") turns.answer(message["tool_call_id"], String(content));
    else if (typeof content === "string") turns.say(role, content);
    for (const part of role === "system" ? [] : arrayOf(content).filter(isObject)) {
      if (part["type"] === "text") turns.say(role, part["text"]);
      else turns.show(role, objectOf(part["image_url"])?.["url"]);
    }
    for (const call of arrayOf(message["tool_calls"]).filter(isObject)) {
      const called = objectOf(call["function"]) ?? {};
      const input = parseJson(String(called["arguments"]));
      turns.call(role, call["id"], original(called["name"]), input);
    }
  }
  const choice = body["tool_choice"];
  const named = objectOf(objectOf(choice)?.["function"])?.["name"];
  return {
    system: system.join("\n\n"),
    turns: turns.done(),
    tools: arrayOf(body["tools"])
      .map((tool) => objectOf(objectOf(tool)?.["function"]) ?? {})
      .map((tool) => [original(tool["name"]), tool["description"], tool["parameters"]]),
    choice: named ? `tool ${original(named)}` : choiceOf(choice),
    // If no call is allowed, their number does not matter.
    oneCallAtATime: body["parallel_tool_calls"] === false && choice !== "none",
    cap: body["max_completion_tokens"] ?? body["max_tokens"],
    temperature: body["temperature"],
    stops: stopsOf(body["stop"]),
    stream: body["stream"] === true,
  };
}

/** Collects turns; consecutive ones of one role become one. */
class Turns {
  private readonly turns: Turn[] = [];
  private callIds: unknown[] = [];

  say(role: string, text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const { parts } = this.turn(role);
    const last = parts.at(-1);
    const joins = role === "assistant" && typeof last === "string";
    if (joins) parts[parts.length - 1] = last + text;
    else parts.push(text);
  }

  show(role: string, picture: unknown): void {
    this.turn(role).parts.push({ picture });
  }

  call(role: string, id: unknown, name: string, input: unknown): void {
    this.turn(role).calls.push([name, input]);
    this.callIds.push(id);
  }

  answer(id: unknown, text: string): void {
    this.turn("user").results.push([this.callIds.lastIndexOf(id), text.trim() === "" ? "" : text]);
  }

  done(): Turn[] {
    // Trailing white space of the assistant's last text is not preserved.
    const last = this.turns.at(-1);
    const said = last?.parts.at(-1);
    if (last?.role === "assistant" && typeof said === "string") {
      last.parts[last.parts.length - 1] = said.trimEnd();
    }
    return this.turns;
  }

  private turn(role: string): Turn {
    const last = this.turns.at(-1);
    if (last?.role === role) return last;
    const turn: Turn = { role, results: [], parts: [], calls: [] };
    this.turns.push(turn);
    return turn;
  }
}

function textsOf(content: unknown): string[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  return arrayOf(content)
    .map((item) => String(objectOf(item)?.["text"] ?? ""))
    .filter((text) => text.trim() !== "");
}

function pictureOf(source: JsonObject): unknown {
  const { type, url, media_type: mediaType, data } = source;
  return type === "url" ? url : `data:${String(mediaType)};base64,${String(data)}`;
}

/** Chat has no flag for a failed result, so the text says it there. */
function failure(text: string): string {
  if (text === "") return "Error: tool failed";
  return text.toLowerCase().startsWith("error") ? text : `Error: ${text}`;
}

function choiceOf(choice: unknown): string {
  if (choice === undefined) return "auto";
  return choice === "required" ? "any" : String(choice);
}

function stopsOf(stops: unknown): unknown[] {
  return typeof stops === "string" ? [stops] : arrayOf(stops).filter((stop) => stop !== "");
}
