import type { JsonObject } from "../../../core/process/json.ts";
import { type Declarations, type Field, membersOf } from "./declared.ts";

/** A field inside of a request, in a request that has it and in one that is the same without it. */
export interface NestedSample {
  /** The declared type and the field: `BetaToolResultBlockParam.is_error`. */
  readonly name: string;
  readonly body: JsonObject;
  readonly beside: JsonObject;
}

const PNG = "iVBORw0KGgo=";
const PDF = "JVBERi0xLjQK";
const SCHEMA = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };

/** Values that a field of this name must have to be valid. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  ...{ url: "https://example.com/a.png", image_url: `data:image/png;base64,${PNG}` },
  ...{ file_url: "https://example.com/a.png", file_data: PDF, filename: "a.pdf" },
  ...{ input_schema: SCHEMA, parameters: SCHEMA, schema: SCHEMA, input: { a: "x" } },
  ...{ id: "t1", tool_use_id: "t1", call_id: "t1", tool_call_id: "t1" },
  ...{ name: "f", arguments: '{"a":"x"}', tool_name: "f", budget_tokens: 1_024, output: "x" },
  ...{ input_examples: [{ a: "x" }], cache_control: { type: "ephemeral" } },
};

/** Optional fields without which a type says nothing, or is refused. */
const NEEDED: Readonly<Record<string, JsonObject>> = {
  ResponseInputImage: { image_url: BY_NAME["image_url"] },
  ResponseInputImageContent: { image_url: BY_NAME["image_url"] },
  ResponseInputFile: { file_data: PDF, filename: "a.pdf" },
  ResponseInputFileContent: { file_data: PDF, filename: "a.pdf" },
  "ChatCompletionContentPart.File.File": { file_data: PDF, filename: "a.pdf" },
  "ResponseInputItem.FunctionCallOutput": { call_id: "t1" },
  "ResponseInputItem.ItemReference": { type: "item_reference", id: "rs_1" },
  "ResponseFormatJSONSchema.JSONSchema": { schema: SCHEMA },
  ResponseCustomToolCall: { input: "x" },
  ChatCompletionAssistantMessageParam: { content: "x" },
  ChatCompletionAllowedTools: { tools: [{ type: "function", function: { name: "f" } }] },
  ToolChoiceAllowed: { tools: [{ type: "function", name: "f" }] },
};

/** Values that say what a request says without them: another one is taken, if there is one. */
const USUAL = new Set(["auto", "default", "direct", "in_progress"]);
const ITEMS = /^(?:Array<(.*)>|(.*)\[\])$/;
const LEVELS_MAX = 6;

/** Makes samples of all optional fields inside of a declared type, one field at a time. Each type is sampled once. */
export class NestedFields {
  readonly samples: NestedSample[] = [];
  private readonly seen = new Set<string>();

  constructor(private readonly declarations: Declarations) {}

  /** `place` puts a value of the type into a request. */
  inside(type: string, scope: string, place: (value: unknown) => JsonObject): void {
    for (const member of membersOf(type)) {
      const [, items, listed] = ITEMS.exec(member) ?? [];
      const inner = items ?? listed;
      if (inner !== undefined) {
        this.inside(inner, scope, (value) => place([value]));
        continue;
      }
      const declared = this.declarations.find(member, scope);
      if (!declared || this.seen.has(declared.name)) continue;
      if ("alias" in declared) this.inside(declared.alias, declared.name, place);
      else this.object(declared.name, declared.fields, place);
    }
  }

  private object(
    name: string,
    fields: readonly Field[],
    place: (value: unknown) => JsonObject,
  ): void {
    this.seen.add(name);
    const base = this.smallest(fields, name, 0);
    const beside = place(base);
    for (const { name: field, type, isOptional } of fields) {
      const put = (value: unknown) => place({ ...base, [field]: value });
      const value = this.valueOf(field, type, name, 0);
      if (isOptional && value !== undefined && base[field] === undefined) {
        this.samples.push({ name: `${name}.${field}`, body: put(value), beside });
      }
      this.inside(type, name, put);
    }
  }

  private smallest(fields: readonly Field[], name: string, level: number): JsonObject {
    const required = fields.filter(({ isOptional }) => !isOptional);
    const made = required.map((field) => [
      field.name,
      this.valueOf(field.name, field.type, name, level),
    ]);
    return { ...Object.fromEntries(made), ...NEEDED[name] };
  }

  private valueOf(field: string, type: string, scope: string, level: number): unknown {
    const members = membersOf(type);
    const isLiteral = members.some((member) => /^['\d]/.test(member));
    if (Object.hasOwn(BY_NAME, field) && !isLiteral) return BY_NAME[field];
    if (field === "data") return scope.includes("PDF") ? PDF : PNG;
    return this.anyOf(members, scope, level);
  }

  private anyOf(members: readonly string[], scope: string, level: number): unknown {
    const literals = members.filter((one) => /^'.*'$/.test(one)).map((one) => one.slice(1, -1));
    const literal = literals.find((one) => !USUAL.has(one)) ?? literals[0];
    if (literal !== undefined) return literal;
    if (members.includes("boolean") || members.includes("true")) return true;
    if (members.includes("string")) return "x";
    if (members.includes("number")) return 1;
    for (const member of members) {
      const [, items, listed] = ITEMS.exec(member) ?? [];
      const inner = items ?? listed;
      if (inner !== undefined) {
        const value = this.anyOf(membersOf(inner), scope, level);
        return value === undefined ? [] : [value];
      }
      const declared = this.declarations.find(member, scope);
      if (declared && "alias" in declared) {
        return this.anyOf(membersOf(declared.alias), declared.name, level);
      }
      if (declared && level < LEVELS_MAX) {
        return this.smallest(declared.fields, declared.name, level + 1);
      }
      if (member === "unknown" || /^(?:\{|Record)/.test(member)) return { a: "x" };
    }
    return undefined;
  }
}

const USER = { role: "user", content: "q" };

/** Puts a value into a field of a request of Messages. A block of a turn gets the turns that it needs. */
function inMessages(field: string, value: unknown): JsonObject {
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  const request = (turns: readonly unknown[]) => ({
    ...{ model: "m", max_tokens: 4_000, messages: turns, tools },
  });
  if (field !== "messages") return { ...request([USER]), [field]: value };
  const [turn] = value as [JsonObject];
  const { role, content } = turn;
  const [block] = Array.isArray(content) ? (content as JsonObject[]) : [];
  const type = String(block?.["type"]);
  const use = { type: "tool_use", id: "t1", name: "f", input: { a: "x" } };
  const result = { type: "tool_result", tool_use_id: "t1", content: "r" };
  const by = (who: string, blocks: unknown) => ({ role: who, content: blocks });
  if (type === "tool_result") return request([USER, by("assistant", [use]), by("user", content)]);
  if (type === "tool_use") return request([USER, by("assistant", content), by("user", [result])]);
  if (/^tool_(?:addition|removal)$/.test(type)) {
    return request([USER, by("system", content), USER]);
  }
  const isAnswer = /thinking|compaction|fallback|^server_|^mcp_tool_use|_tool_result$/.test(type);
  if (isAnswer) return request([USER, by("assistant", content), USER]);
  return request(role === "user" ? [turn] : [USER, turn, USER]);
}

function inChat(field: string, value: unknown): JsonObject {
  const called = { name: "f", parameters: { type: "object", properties: {} } };
  const request = (turns: readonly unknown[]) => ({
    ...{ model: "m", messages: turns, tools: [{ type: "function", function: called }] },
  });
  if (field === "functions") return { ...request([USER]), tools: undefined, functions: value };
  if (field !== "messages") return { ...request([USER]), [field]: value };
  const [turn] = value as [JsonObject];
  const call = { name: "f", arguments: "{}" };
  const asked = (more: JsonObject) => ({ role: "assistant", content: null, ...more });
  switch (turn["role"]) {
    case "tool": {
      const calls = [{ id: "t1", type: "function", function: call }];
      return request([USER, asked({ tool_calls: calls }), turn]);
    }
    case "function":
      return request([USER, asked({ function_call: call }), turn]);
    default: {
      const isCall = turn["tool_calls"] !== undefined;
      return request([
        USER,
        turn,
        isCall ? { role: "tool", tool_call_id: "t1", content: "r" } : USER,
      ]);
    }
  }
}

function inResponses(field: string, value: unknown): JsonObject {
  const tool = { type: "function", name: "f", parameters: { type: "object", properties: {} } };
  const request = (items: readonly unknown[]) => ({ model: "m", input: items, tools: [tool] });
  if (field !== "input") return { ...request([USER]), [field]: value };
  const [item] = value as [JsonObject];
  const id = { call_id: "t1" };
  switch (item["type"]) {
    case "function_call":
      return request([USER, item, { type: "function_call_output", ...id, output: "r" }]);
    case "function_call_output":
      return request([USER, { type: "function_call", ...id, name: "f", arguments: "{}" }, item]);
    case "custom_tool_call":
      return request([USER, item, { type: "custom_tool_call_output", ...id, output: "r" }]);
    case "custom_tool_call_output":
      return request([USER, { type: "custom_tool_call", ...id, name: "f", input: "x" }, item]);
    case "compaction_trigger":
      return request([USER, item]);
    default:
      return request([USER, item, USER]);
  }
}

export const PLACES = { messages: inMessages, chat: inChat, responses: inResponses } as const;

/** Fields that may be left out without a word, and why. */
export const HARMLESS: readonly (readonly [field: RegExp, why: string])[] = [
  [
    /\.status$|ToolCall(?:Output)?\.id$|FunctionCallOutput\.id$|(?:CompactionTrigger|UpdateItemParam)\.id$/,
    "the client's own record",
  ],
  [/FunctionCallOutput\.(?:name|namespace)$/, "its call has it"],
  [/Message\.type$|^BetaTool\.type$/, "the default"],
  [/\.format$|UpdateItemParam\.text$/, "text, the default"],
  [/UpdateItemParam\.reasoning$/, "empty"],
  [
    /\.(?:caller|async)$|\.toolset_name$/,
    "of a call that has been made: tools of that kind are refused or named",
  ],
  [/^BetaTool\.allowed_callers$/, "the model alone calls"],
  [/\.defer_loading$/, "a tool that is sent is loaded"],
  [
    /\.eager_input_streaming$|\.include_obfuscation$|\.include_usage$/,
    "the gateway always does that",
  ],
  [/^BetaTextBlockParam\.citations$|\.logprobs$/, "the source of a text of before, which goes on"],
  [/\.phase$/, "the text goes on, as that of any turn"],
  [
    /^BetaCompactionBlockParam\.(?:encrypted_content|signature|tool_changes)$|^BetaRequestTool\w+\.cache_control$/,
    "only Claude can read it; the summary goes on",
  ],
  [/^ResponseReasoningItem\./, "no model but its maker's can read it"],
  [/^Reasoning\.(?:generate_)?summary$/, "reasoning comes as the provider gives it"],
  [/\.refusal$/, "beside a text; alone, it is the text"],
  [/\.strict$/, "replies are held to the schema in any case"],
];
