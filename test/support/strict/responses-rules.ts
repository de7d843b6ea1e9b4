import type { JsonObject } from "../../../core/process/json.ts";
import { REASONING, tokensPerMinute } from "./openai.ts";
import { type Facts, given, objectIn, objects, type Rule, text } from "./rule.ts";
import { openaiSchemaRefusal, openaiStrictRefusal } from "./schema.ts";
import { checkState, readCompaction } from "./state.ts";

function ids(facts: Facts, ending: "call" | "call_output"): string[] {
  const types = [`function_${ending}`, `custom_tool_${ending}`];
  return facts.turns
    .filter((item) => types.includes(text(item["type"])))
    .map(({ call_id }) => text(call_id));
}

function isReasoning(item: JsonObject): boolean {
  return item["type"] === "reasoning";
}

function wrongShape(item: JsonObject): string | undefined {
  if (!Array.isArray(item["summary"])) return "Missing required parameter: 'input[1].summary'.";
  if (item["id"] === "") return "Invalid 'input[1].id': ''. Expected an ID that begins with 'rs'.";
  const { content } = item;
  const plain = Array.isArray(content) && content.length > 0;
  return plain ? "Invalid 'input[1].content': array too long." : undefined;
}

/** Returns true for the item that asks for a compaction. */
export function isTrigger({ type }: JsonObject): boolean {
  return type === "compaction_trigger";
}

/** The words of xAI for any state that it cannot read. */
const UNREADABLE_STATE =
  "Could not decode the compaction blob. Ensure it is unmodified from the compact response.";

/** Rules of the Responses endpoint, which OpenAI and xAI have. */
export const responsesRules: readonly Rule[] = [
  {
    id: "r-unknown-field",
    code: "unknown_parameter",
    source: "OpenAI docs: Responses reference",
    refuses: ({ body }) => {
      const name = given(
        body,
        ...["stop", "seed", "n", "presence_penalty", "frequency_penalty", "max_tokens", "messages"],
      );
      return name && `Unknown parameter: '${name}'.`;
    },
  },
  {
    id: "r-sampling",
    models: REASONING,
    code: "unsupported_parameter",
    source: "OpenAI docs: reasoning guide",
    refuses: ({ body }) => {
      const name = ["temperature", "top_p"].find((name) => (body[name] ?? 1) !== 1);
      return name && `Unsupported parameter: '${name}' is not supported with this model.`;
    },
  },
  {
    id: "r-cap-min",
    code: "integer_below_min_value",
    source: "OpenAI docs: Responses reference",
    refuses: ({ body: { max_output_tokens: cap } }) =>
      typeof cap === "number" &&
      cap < 16 &&
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${cap} instead.`,
  },
  tokensPerMinute("r-tokens-per-minute", ({ body }) => Number(body["max_output_tokens"] ?? 0)),
  {
    id: "r-schema",
    code: "invalid_function_parameters",
    source: "raine/claude-code-proxy#141; lidge-jun/opencodex#4072",
    refuses: openaiSchemaRefusal,
  },
  {
    id: "r-strict-subset",
    code: "invalid_function_parameters",
    source: "cyanheads/git-mcp-server#47; can1357/oh-my-pi#206",
    refuses: openaiStrictRefusal,
  },
  {
    id: "r-json-word",
    models: /^(gpt-|o[0-9])/,
    source: "miracodeai/mira#267; OpenAI docs: structured outputs",
    refuses: ({ body, turns }) =>
      objectIn(objectIn(body, "text") ?? {}, "format")?.["type"] === "json_object" &&
      // The instructions do not count.
      !/json/i.test(`${text(body["input"])}${JSON.stringify(turns)}`) &&
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
  },
  {
    id: "r-call-id-64",
    code: "string_above_max_length",
    source: "OpenAI docs: Responses reference",
    refuses: ({ turns }) =>
      turns.some(({ call_id }) => text(call_id).length > 64) &&
      "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64.",
  },
  {
    id: "r-calls-answered",
    source: "OpenAI docs: function calling",
    refuses: (facts) => {
      const results = ids(facts, "call_output");
      const open = ids(facts, "call").find((id) => !results.includes(id));
      return open && `No tool output found for function call ${open}.`;
    },
  },
  {
    id: "r-output-orphan",
    source: "OpenAI docs: function calling",
    refuses: (facts) => {
      const calls = ids(facts, "call");
      const orphan = ids(facts, "call_output").find((id) => !calls.includes(id));
      return orphan && `No tool call found for function call output with call_id ${orphan}.`;
    },
  },
  {
    id: "r-reasoning-shape",
    source: "microsoft/agent-framework-go#784",
    refuses: ({ turns }) => turns.filter(isReasoning).map(wrongShape).find(Boolean),
  },
  {
    id: "r-encrypted-own",
    code: "invalid_encrypted_content",
    source:
      "Wei-Shaw/sub2api#3138; openclaw/openclaw#90093; theopenco/llmgateway#3600; chenyme/grok2api#688",
    refuses: ({ turns, family }) => {
      const foreign = turns.find(
        (item) =>
          isReasoning(item) &&
          item["encrypted_content"] != null &&
          checkState(family, "reasoning", item["encrypted_content"]) !== "own",
      );
      if (foreign && family === "xai") return UNREADABLE_STATE;
      return (
        foreign &&
        `The encrypted content for item ${text(foreign["id"])} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`
      );
    },
  },
  {
    id: "r-message-encrypted",
    models: /^(gpt-|o[0-9])/,
    source: "openai/codex#33267; caozhiyuan/copilot-api#339",
    refuses: ({ turns }) =>
      turns
        .flatMap(({ content, output }) => [...objects(content), ...objects(output)])
        .some(
          ({ type, encrypted_content }) =>
            type === "encrypted_content" && !text(encrypted_content).startsWith("gAAAAA"),
        ) && "Encrypted function output content could not be decrypted or decoded.",
  },
  {
    id: "r-compaction-own",
    code: "invalid_encrypted_content",
    source: "OpenAI docs: compaction; xAI docs: context compaction",
    refuses: ({ turns, family }) =>
      turns.some(
        ({ type, encrypted_content }) =>
          type === "compaction" && readCompaction(family, encrypted_content) === undefined,
      ) &&
      (family === "xai"
        ? UNREADABLE_STATE
        : "The encrypted content for item cmp_1 could not be verified."),
  },
  {
    id: "r-compaction-trigger",
    models: /^grok/,
    source: "xAI docs: context compaction",
    refuses: ({ turns }) =>
      turns.some(isTrigger) && "Invalid value: 'compaction_trigger' is no type of an input item.",
  },
  {
    id: "r-reasoning-follows",
    source: "OpenAI docs: reasoning guide; microsoft/agent-framework-go#784",
    refuses: ({ turns }) => {
      const alone = turns.find((item, at) => {
        const next = turns[at + 1];
        if (!isReasoning(item)) return false;
        return !next || next["role"] === "user" || next["type"] === "function_call_output";
      });
      return (
        alone &&
        `Item '${text(alone["id"])}' of type 'reasoning' was provided without its required following item.`
      );
    },
  },
  {
    id: "r-context",
    code: "context_length_exceeded",
    source: "OpenAI docs: errors",
    refuses: ({ inputTokens }) =>
      inputTokens > 1_050_000 &&
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
  },
];
