import { unpaired } from "./chat-turns.ts";
import { type Facts, given, objectIn, type Rule, text } from "./rule.ts";
import { xaiSchemaRefusal } from "./schema.ts";

const NOT_SUPPORTED = (name: string) => `Argument not supported on this model: ${name}`;

export const xai: readonly Rule[] = [
  {
    id: "x-stop, x-penalties",
    source: "mnfst/modelparams.dev#330; xAI docs: reasoning",
    refuses: ({ body }) => {
      const name = given(body, "stop", "presence_penalty", "frequency_penalty");
      return name && NOT_SUPPORTED(name);
    },
  },
  {
    id: "x-schema-circle",
    source: "xAI docs: structured outputs",
    refuses: xaiSchemaRefusal,
  },
  {
    id: "x-effort-absent",
    models: /^grok-(4(-.*)?|4-1.*|4\.20.*)$/,
    source: "NousResearch/hermes-agent#23435; BerriAI/litellm#16265",
    refuses: ({ model, body }) =>
      given(body, "reasoning_effort") &&
      `Model ${model} does not support parameter reasoningEffort.`,
  },
  {
    id: "x-effort-values",
    source: "can1357/oh-my-pi#4888; enricoros/big-AGI#1104",
    refuses: ({ model, body }) => {
      const effort = body["reasoning_effort"] ?? objectIn(body, "reasoning")?.["effort"];
      if (effort == null) return undefined;
      const known = ["low", "medium", "high"];
      if (/^grok-4\.3/.test(model)) known.push("none");
      return (
        !known.includes(text(effort)) &&
        `Invalid reasoning effort '${text(effort)}' for this model.`
      );
    },
  },
];

export const xaiChat: readonly Rule[] = [
  {
    id: "x-pairing",
    source: "xAI docs: function calling",
    refuses: (facts) =>
      unpaired(facts) !== undefined && "Each tool call must be followed by its tool result.",
  },
  {
    id: "x-context",
    source: "xAI docs: models",
    refuses: ({ model, inputTokens }) => {
      const window = /^grok-4\.5/.test(model) ? 500_000 : 1_000_000;
      return (
        inputTokens > window &&
        `This model's maximum prompt length is ${window} but the request contains ${inputTokens} tokens.`
      );
    },
  },
];

/** The types of tools and items that the Responses endpoint of xAI has, as its refusals and its documents list them. */
const RESPONSES_TOOLS = [
  ...["function", "web_search", "x_search", "image_generation", "collections_search"],
  ...["file_search", "code_execution", "code_interpreter", "mcp", "shell", "tool_search"],
];
const RESPONSES_ITEMS = [
  ...["message", "reasoning", "function_call", "function_call_output", "compaction"],
  ...["web_search_call", "x_search_call", "code_interpreter_call", "file_search_call", "mcp_call"],
];

const UNREADABLE_ITEM =
  "Failed to deserialize the JSON body into the target type: data did not match any variant of untagged enum ModelInput";

function unknownTool({ tools }: Facts): string | undefined {
  const at = tools.findIndex(({ type }) => !RESPONSES_TOOLS.includes(text(type)));
  if (at === -1) return undefined;
  const known = RESPONSES_TOOLS.map((type) => `\`${type}\``).join(", ");
  return `Failed to deserialize the JSON body into the target type: tools[${at}].type: unknown variant \`${text(tools[at]?.["type"])}\`, expected one of ${known}`;
}

export const xaiResponses: readonly Rule[] = [
  {
    id: "x-tool-types",
    status: 422,
    source: "james-6-23/codex2api#516; kittors/CliRelay#696; router-for-me/CLIProxyAPI#5257",
    refuses: unknownTool,
  },
  {
    id: "x-item-types",
    status: 422,
    source:
      "router-for-me/CLIProxyAPI#3704; router-for-me/CLIProxyAPI#4434; router-for-me/CLIProxyAPI#5207",
    refuses: ({ turns }) =>
      turns.some(({ type }) => !RESPONSES_ITEMS.includes(text(type ?? "message"))) &&
      UNREADABLE_ITEM,
  },
  {
    id: "x-reasoning-content",
    status: 422,
    source: "Wei-Shaw/sub2api#4237; lidge-jun/opencodex#2239",
    refuses: ({ turns }) =>
      turns.some(({ type, content }) => type === "reasoning" && content === null) &&
      UNREADABLE_ITEM,
  },
  {
    id: "x-search-arguments",
    source: "lidge-jun/opencodex#2240",
    refuses: ({ tools }) => {
      const found = tools.flatMap((tool) => given(tool, "external_web_access") ?? []);
      return found[0] && `Argument not supported: ${found[0]}`;
    },
  },
  {
    id: "x-metadata",
    source: "router-for-me/CLIProxyAPI#5648; esengine/DeepSeek-Reasonix#9822",
    refuses: ({ body }) => given(body, "metadata") && "Argument not supported: metadata",
  },
  {
    id: "x-choice-needs-tools",
    source: "router-for-me/CLIProxyAPI#3704",
    refuses: ({ body, tools }) =>
      tools.length === 0 &&
      given(body, "tool_choice") &&
      "Invalid request content: A tool_choice was set on the request but no tools were specified.",
  },
];
