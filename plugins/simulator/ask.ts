import { arrayOf, isObject, type JsonObject, objectOf } from "../../core/plugin/index.ts";
import { countTokens } from "./text.ts";

/** A tool that the model may call. */
export interface Tool {
  readonly name: string;
  readonly schema: JsonObject;
}

/** A request to a model, as the reply depends on it. */
export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  /** The text of users and tools after the model's last reply. It may contain a directive. */
  readonly prompt: string;
  /** Its last part: the words that a user typed, without the reminders that agents put before. */
  readonly words: string;
  readonly inputTokens: number;
  readonly maxTokens: number | undefined;
  /** Stop sequences. */
  readonly stops: readonly string[];
  readonly tools: readonly Tool[];
  /** The name of the tool that the request demands; true: any of them. */
  readonly forced: string | boolean;
  /** The schema of the JSON that the reply must be. Undefined for text. */
  readonly format: JsonObject | undefined;
  readonly body: JsonObject;
}

/** A request that the provider refuses with a 400. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

/** Input tokens of an image of any size. */
export const TOKENS_PER_IMAGE = 256;

/** The object in this field, empty if there is none. */
export function objectIn(value: unknown, name: string): JsonObject {
  return objectOf(objectOf(value)?.[name]) ?? {};
}

export function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

export function positiveInteger(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

/** Returns this field of a request. Throws a `Refused` if it is not text. */
export function requiredText(body: JsonObject, name: string): string {
  const value = body[name];
  if (typeof value !== "string") {
    throw new Refused(`Missing required parameter: '${name}'.`, name);
  }
  return value;
}

/** The fields of a request that each protocol names in its own way. */
interface Named {
  readonly turns: unknown;
  /** The name of the field of the turns. */
  readonly name: string;
  readonly system?: unknown;
  readonly maxTokens: unknown;
  readonly stops?: unknown;
  readonly format?: unknown;
}

/** Reads a request to any of the three chat protocols. Throws a `Refused` if a field is missing. */
export function readAsk(body: JsonObject, named: Named): Ask {
  const turns = typeof named.turns === "string" ? [{ content: named.turns }] : named.turns;
  const model = requiredText(body, "model");
  if (!Array.isArray(turns) || turns.length === 0) {
    throw new Refused(`Missing required parameter: '${named.name}'.`, named.name);
  }
  const tools = arrayOf(body["tools"]).filter(isObject);
  const texts = [textOf(named.system), ...turns.map(textOf)];
  const given = tools.length > 0 ? JSON.stringify(tools) : "";
  const recent = turns
    .slice(turns.findLastIndex(isReply) + 1)
    .filter(isObject)
    .filter(isPrompt);
  const stops = Array.isArray(named.stops) ? named.stops : [named.stops];
  return {
    model,
    stream: body["stream"] === true,
    prompt: recent.map(textOf).join("\n"),
    words: lastWords(recent),
    inputTokens: countTokens(texts.join("") + given) + imagesIn(turns) * TOKENS_PER_IMAGE,
    maxTokens: positiveInteger(named.maxTokens),
    stops: stops.filter((stop): stop is string => typeof stop === "string" && stop !== ""),
    tools: tools.flatMap(asTool),
    forced: forcedBy(body["tool_choice"]),
    format: schemaIn(named.format),
    body,
  };
}

/** The schema of a format: OpenAI's Chat puts it one level deeper; \`json_object\` takes any object. */
function schemaIn(format: unknown): JsonObject | undefined {
  if (!isObject(format)) return undefined;
  const { schema } = isObject(format["json_schema"]) ? format["json_schema"] : format;
  if (format["type"] === "json_object") return { type: "object" };
  return isObject(schema) ? schema : undefined;
}

function isReply(turn: unknown): boolean {
  if (!isObject(turn)) return false;
  if (turn["role"] !== undefined) return turn["role"] === "assistant";
  return turn["type"] === "function_call" || turn["type"] === "reasoning";
}

function isPrompt({ role }: JsonObject): boolean {
  return role !== "system" && role !== "developer";
}

/** Joins all texts of a content value: a string, a list of parts, a part or a tool result. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).join("");
  if (!isObject(content)) return "";
  return textOf(content["text"] ?? content["content"] ?? content["output"]);
}

/** Agents put reminders into parts of their own, before what the user typed. */
function lastWords(turns: readonly JsonObject[]): string {
  const { content, output } = turns.at(-1) ?? {};
  const parts = Array.isArray(content) ? content.map(textOf) : [textOf(content ?? output)];
  return parts.findLast((part) => part.trim() !== "") ?? "";
}

export function imagesIn(content: unknown): number {
  if (Array.isArray(content)) {
    return content.reduce((sum: number, part) => sum + imagesIn(part), 0);
  }
  if (!isObject(content)) return 0;
  const { type } = content;
  if (type === "image" || type === "image_url" || type === "input_image") return 1;
  return imagesIn(content["content"]);
}

function asTool(tool: JsonObject): Tool[] {
  const given = isObject(tool["function"]) ? tool["function"] : tool;
  const { name, parameters, input_schema } = given;
  const schema = parameters ?? input_schema;
  return typeof name === "string" && isObject(schema) ? [{ name, schema }] : [];
}

function forcedBy(choice: unknown): string | boolean {
  if (choice === "required") return true;
  if (!isObject(choice)) return false;
  const name = objectIn(choice, "function")["name"] ?? choice["name"];
  if (typeof name === "string") return name;
  return choice["type"] === "any" || objectIn(choice, "allowed_tools")["mode"] === "required";
}
