import { isObject } from "../../../core/process/json.ts";
import { type Facts, given, objectIn, objects, type Rule, text } from "./rule.ts";

/** Betas that Claude on Amazon Bedrock does not know, by their names without dates. */
const UNKNOWN_BETA =
  /^(?:prompt-caching-scope|redact-thinking|token-efficient-tools|advanced-tool-use|fast-mode|oauth)-/;

/** Models on Bedrock whose copy of the Messages schema has no structured output. */
const WITHOUT_FORMATS = /^claude-(?:[a-z]+-4-[789]|[a-z]+-5)/;

function betas({ headers }: Facts): string[] {
  return text(headers["anthropic-beta"])
    .split(",")
    .map((beta) => beta.trim());
}

/** Returns true if a cache mark of the system, of a tool or of a turn states a scope. */
function hasScope({ body, tools, turns }: Facts): boolean {
  const blocks = [body["system"], ...turns.map(({ content }) => content)].flatMap(objects);
  return [body, ...tools, ...blocks].some((holder) => {
    const mark = holder["cache_control"];
    return isObject(mark) && mark["scope"] !== undefined;
  });
}

export const claudeOnBedrock: readonly Rule[] = [
  {
    id: "a-bedrock-beta",
    source: "router-for-me/CLIProxyAPI#4750; anthropics/claude-code#30926",
    refuses: (facts) =>
      facts.onBedrock &&
      betas(facts).some((beta) => UNKNOWN_BETA.test(beta)) &&
      "invalid beta flag",
  },
  {
    id: "a-bedrock-scope",
    source: "router-for-me/CLIProxyAPI#4750",
    refuses: (facts) =>
      facts.onBedrock &&
      hasScope(facts) &&
      "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
  },
  {
    id: "a-bedrock-deferred",
    source: "anthropics/claude-code#82549; vercel/ai#13900",
    refuses: (facts) =>
      facts.onBedrock &&
      facts.tools.some(({ defer_loading }) => defer_loading !== undefined) &&
      !betas(facts).includes("tool-search-tool-2025-10-19") &&
      "tools.0.custom.defer_loading: Extra inputs are not permitted",
  },
  {
    id: "a-bedrock-cache",
    source: "UKGovernmentBEIS/inspect_ai#3851; BerriAI/litellm#26320",
    refuses: ({ onBedrock, body }) =>
      onBedrock &&
      given(body, "cache_control") !== undefined &&
      "cache_control: Extra inputs are not permitted",
  },
  {
    id: "a-bedrock-format",
    models: WITHOUT_FORMATS,
    source: "vercel/ai#19988; presenton/presenton#939",
    refuses: ({ onBedrock, body }) => {
      if (!onBedrock) return undefined;
      const name =
        objectIn(body, "output_config")?.["format"] === undefined ? "" : "output_config.format";
      const older = given(body, "output_format");
      return (name || older) && `${name || older}: Extra inputs are not permitted`;
    },
  },
  {
    id: "a-bedrock-strict",
    models: WITHOUT_FORMATS,
    source: "BerriAI/litellm#31582; BerriAI/litellm#33193; lobehub/lobehub#19876",
    refuses: ({ onBedrock, tools }) =>
      onBedrock &&
      tools.some(({ strict }) => strict !== undefined) &&
      "tools.0.custom.strict: Extra inputs are not permitted",
  },
];
