import { callsOf, capOf, partsOf, unpaired } from "./chat-turns.ts";
import { type Facts, given, objectIn, objects, type Rule, text, unknownField } from "./rule.ts";
import { openaiSchemaRefusal, openaiStrictRefusal } from "./schema.ts";

const FIELDS = new Set([
  ...["model", "messages", "audio", "frequency_penalty", "function_call", "functions"],
  ...["logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities"],
  ...["n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key"],
  ...["prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier"],
  ...["seed", "service_tier", "stop", "store", "stream", "stream_options", "temperature"],
  ...["tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"],
]);

const PART_TYPES = ["text", "image_url", "input_audio", "refusal", "audio", "file"];

export const REASONING = /^(gpt-[5-9]|o[0-9])/;
const IMAGE_DATA = /^data:image\/(png|jpe?g|gif|webp)[;,]/i;

function effortsOf(model: string): readonly string[] {
  if (/^o[0-9]/.test(model)) return ["low", "medium", "high"];
  if (/^gpt-5\.[45]/.test(model)) return ["none", "low", "medium", "high", "xhigh"];
  if (/^gpt-(5\.[6-9]|[6-9])/.test(model)) return ["none", "low", "medium", "high", "xhigh", "max"];
  return ["minimal", "low", "medium", "high"];
}

function openaiCap(model: string): number {
  if (/^gpt-4\.1/.test(model)) return 32_768;
  return /^o[0-9]/.test(model) ? 100_000 : 128_000;
}

/** The tokens a minute of a new account. A call takes its limit of them if that is more than its likely tokens. */
const TOKENS_PER_MINUTE = 30_000;

/** Returns the rule for a call whose output limit is more than a new account may use in a minute. */
export function tokensPerMinute(id: string, limitOf: (facts: Facts) => number): Rule {
  return {
    id,
    models: /^gpt-4\.1$/,
    status: 429,
    code: "rate_limit_exceeded",
    source: "OpenAI docs: rate limits; vanna-ai/vanna-flask#11; zeeyado/koassistant.koplugin#106",
    refuses: (facts) => {
      const wanted = limitOf(facts);
      return (
        wanted > TOKENS_PER_MINUTE &&
        `Request too large for ${facts.model} on tokens per min (TPM): Limit ${TOKENS_PER_MINUTE}, Requested ${wanted}. The input or output tokens must be reduced in order to run successfully.`
      );
    },
  };
}

function tooManyOrLong({ body, tools, turns }: Facts): string | undefined {
  if (tools.length > 128) {
    return `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${tools.length} instead.`;
  }
  const ids = turns.flatMap((turn) => [turn["tool_call_id"], ...callsOf(turn).map(({ id }) => id)]);
  if (ids.some((id) => text(id).length > 40)) {
    return "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a longer one.";
  }
  const long = ["user", "safety_identifier", "prompt_cache_key"].find(
    (name) => text(body[name]).length > 64,
  );
  return long && `Invalid '${long}': string too long. Expected a string with maximum length 64.`;
}

/** Returns true for a schema that `strict` refuses: open, or with optional properties. */
function isOpen(schema: unknown): boolean {
  const [object] = objects([schema]);
  if (!object) return false;
  const properties = objectIn(object, "properties") ?? {};
  const required = Array.isArray(object["required"]) ? object["required"] : [];
  if (object["type"] === "object" && object["additionalProperties"] !== false) return true;
  if (Object.keys(properties).some((name) => !required.includes(name))) return true;
  return [...Object.values(properties), object["items"]].some(isOpen);
}

const ofReasoning: readonly Rule[] = [
  {
    id: "o-cap-name",
    code: "unsupported_parameter",
    source: "fish2018/YPrompt#26; decolua/9router#560",
    refuses: ({ body }) =>
      given(body, "max_tokens") &&
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  },
  {
    id: "o-temperature",
    code: "unsupported_value",
    source: "decolua/9router#560; OpenHands/software-agent-sdk#1837",
    refuses: ({ body }) =>
      (body["temperature"] ?? 1) !== 1 &&
      `Unsupported value: 'temperature' does not support ${String(body["temperature"])} with this model. Only the default (1) value is supported.`,
  },
  {
    id: "o-top-p",
    code: "unsupported_parameter",
    source: "chatboxai/chatbox#2627",
    refuses: ({ body }) =>
      (body["top_p"] ?? 1) !== 1 &&
      "Unsupported parameter: 'top_p' is not supported with this model.",
  },
  {
    id: "o-stop-reasoning",
    code: "unsupported_parameter",
    source: "OpenAI docs: Chat Completions reference",
    refuses: ({ body }) =>
      given(body, "stop") && "Unsupported parameter: 'stop' is not supported with this model.",
  },
  {
    id: "o-penalties",
    code: "unsupported_parameter",
    source: "OpenAI docs: reasoning guide",
    refuses: ({ body }) => {
      const names = ["presence_penalty", "frequency_penalty", "logit_bias", "logprobs"];
      const name = names.find((name) => body[name]);
      return name && `Unsupported parameter: '${name}' is not supported with this model.`;
    },
  },
];

const reasoning = ofReasoning.map((rule) => ({ ...rule, models: REASONING }));

const NO_TOOLS_WITH_EFFORT = (model: string) =>
  `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;

const tools: readonly Rule[] = [
  {
    id: "o-tools-effort",
    models: /^gpt-(5\.[4-9]|[6-9])/,
    source: "openai/openai-openapi#541; pipecat-ai/pipecat#4043; livekit/agents#5088",
    refuses: ({ model, body, tools: list }) =>
      list.length > 0 &&
      (body["reasoning_effort"] ?? "none") !== "none" &&
      NO_TOOLS_WITH_EFFORT(model),
  },
  {
    id: "o-tools-default-effort",
    models: /^gpt-(5\.[5-9]|[6-9])/,
    source: "BerriAI/litellm#34569; danny-avila/LibreChat#14355; jeffdafoe/llm-memory-api#178",
    refuses: ({ model, body, tools: list }) =>
      list.length > 0 && body["reasoning_effort"] == null && NO_TOOLS_WITH_EFFORT(model),
  },
  {
    id: "o-parallel-needs-tools",
    source: "QwenLM/qwen-code#2054; earendil-works/pi#3649",
    refuses: (facts) => {
      const name = given(facts.body, "parallel_tool_calls", "tool_choice");
      return (
        facts.tools.length === 0 &&
        name &&
        `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
      );
    },
  },
  {
    id: "o-tool-shape",
    code: "missing_required_parameter",
    source: "BerriAI/litellm#34029; router-for-me/CLIProxyAPI#3805",
    refuses: ({ tools: list }) => {
      const at = list.findIndex((tool) => !objectIn(tool, text(tool["type"])));
      const missing = at !== -1 && `tools[${at}].${text(list[at]?.["type"]) || "type"}`;
      return missing && `Missing required parameter: '${missing}'.`;
    },
  },
  {
    id: "o-tool-name",
    code: "invalid_value",
    source: "langchain-ai/deepagents#5953",
    refuses: (facts) =>
      facts.tools.some(
        (tool) =>
          tool["type"] === "function" &&
          !/^[a-zA-Z0-9_-]{1,64}$/.test(text(objectIn(tool, "function")?.["name"])),
      ) &&
      "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
  },
  {
    id: "o-schema",
    code: "invalid_function_parameters",
    source: "raine/claude-code-proxy#141; griptape-ai/griptape#2150; vercel/ai#2271",
    refuses: openaiSchemaRefusal,
  },
  {
    id: "o-strict-subset",
    code: "invalid_function_parameters",
    source: "cyanheads/git-mcp-server#47; can1357/oh-my-pi#206; lvndry/jazz#510",
    refuses: openaiStrictRefusal,
  },
  {
    id: "o-strict-schema",
    code: "invalid_function_parameters",
    source: "BerriAI/litellm#20997; OpenAI docs: structured outputs",
    refuses: (facts) =>
      facts.tools.some((tool) => {
        const called = objectIn(tool, "function");
        return called?.["strict"] === true && isOpen(called["parameters"]);
      }) &&
      "Invalid schema for function: In context=(), 'additionalProperties' is required to be supplied and to be false.",
  },
  {
    id: "o-format-schema",
    source: "OpenAI docs: structured outputs",
    refuses: ({ body }) => {
      const format = objectIn(objectIn(body, "response_format") ?? {}, "json_schema");
      return (
        format?.["strict"] === true &&
        isOpen(format["schema"]) &&
        "Invalid schema for response_format: In context=(), 'additionalProperties' is required to be supplied and to be false."
      );
    },
  },
];

const turns: readonly Rule[] = [
  {
    id: "o-pairing",
    source: "claude-code-best/claude-code#177",
    refuses: (facts) => {
      const found = unpaired(facts);
      if (!found) return undefined;
      return found.result === undefined
        ? `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${found.calls.join(", ")}`
        : "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    },
  },
  {
    id: "o-null-content",
    source: "OpenAI docs: Chat Completions reference",
    refuses: (facts) =>
      facts.turns.some(
        (turn) =>
          turn["content"] == null &&
          callsOf(turn).length === 0 &&
          !given(turn, "function_call", "refusal", "audio"),
      ) && "Invalid value for 'content': expected a string, got null.",
  },
  {
    id: "o-tool-text-only",
    source: "OpenHands/OpenHands#7700; looplj/axonhub#2307",
    refuses: (facts) =>
      partsOf(facts).some(({ role, part }) => role === "tool" && part["type"] === "image_url") &&
      "Invalid 'messages': Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
  },
  {
    id: "o-empty-calls",
    code: "empty_array",
    source: "openai/openai-node#1341; chatboxai/chatbox#2079; home-assistant/core#118577",
    refuses: ({ turns: messages }) => {
      const at = messages.findIndex(
        ({ tool_calls: calls }) => Array.isArray(calls) && calls.length === 0,
      );
      return (
        at !== -1 &&
        `Invalid 'messages[${at}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`
      );
    },
  },
  {
    id: "o-part-type",
    code: "invalid_value",
    source: "langchain-ai/langchainjs#9972; automazeio/vibeproxy#411",
    refuses: (facts) => {
      const found = partsOf(facts).find(({ part }) => !PART_TYPES.includes(text(part["type"])));
      return (
        found &&
        `Invalid value: '${text(found.part["type"])}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.`
      );
    },
  },
  {
    id: "o-image-type",
    code: "invalid_image_format",
    source: "OpenAI docs: images and vision",
    refuses: (facts) =>
      partsOf(facts).some(({ part }) => {
        const url = text(objectIn(part, "image_url")?.["url"]);
        return url.startsWith("data:") && !IMAGE_DATA.test(url);
      }) &&
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
  },
];

export const openai: readonly Rule[] = [
  {
    id: "o-unknown-field",
    code: "unknown_parameter",
    source: "OpenAI docs: errors",
    refuses: ({ body }) => {
      const name = unknownField(body, FIELDS);
      return name && `Unknown parameter: '${name}'.`;
    },
  },
  ...reasoning,
  {
    id: "o-effort-values",
    code: "unsupported_value",
    source: "OpenAI docs: reasoning guide; model pages",
    refuses: ({ model, body }) => {
      const effort = body["reasoning_effort"];
      if (effort == null) return undefined;
      if (!REASONING.test(model)) {
        return "Unrecognized request argument supplied: reasoning_effort";
      }
      return (
        !effortsOf(model).includes(text(effort)) &&
        `Unsupported value: 'reasoning_effort' does not support '${text(effort)}' with this model.`
      );
    },
  },
  {
    id: "o-cap-range",
    code: "invalid_value",
    source: "OpenAI docs: model pages",
    refuses: (facts) =>
      capOf(facts) > openaiCap(facts.model) &&
      `max_tokens is too large: ${capOf(facts)}. This model supports at most ${openaiCap(facts.model)} completion tokens.`,
  },
  tokensPerMinute("o-tokens-per-minute", capOf),
  {
    id: "o-stop-4",
    models: /^gpt-4/,
    code: "array_above_max_length",
    source: "OpenAI docs: Chat Completions reference",
    refuses: ({ body: { stop } }) =>
      Array.isArray(stop) &&
      stop.length > 4 &&
      "Invalid 'stop': array too long. Expected an array with maximum length 4.",
  },
  {
    id: "o-tool-id-40, o-tools-128, o-user-64",
    code: "string_above_max_length",
    source:
      "vybestack/llxprt-code#713; maximhq/bifrost#1000; OpenAI docs: function calling; looplj/axonhub#1669",
    refuses: tooManyOrLong,
  },
  ...tools,
  ...turns,
  {
    id: "o-json-word",
    source: "ultimatejimmy/xray.koplugin#33; tensorzero/tensorzero#141",
    refuses: ({ body, turns: messages }) =>
      objectIn(body, "response_format")?.["type"] === "json_object" &&
      !/json/i.test(JSON.stringify(messages)) &&
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
  },
  {
    id: "o-context",
    code: "context_length_exceeded",
    source: "OpenAI docs: errors",
    refuses: ({ model, inputTokens }) => {
      const window = /^o[0-9]/.test(model) ? 200_000 : 1_050_000;
      return (
        inputTokens > window &&
        `This model's maximum context length is ${window} tokens. However, your messages resulted in ${inputTokens} tokens. Please reduce the length of the messages.`
      );
    },
  },
];
