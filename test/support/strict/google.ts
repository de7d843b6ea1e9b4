import { callsOf, capOf, runningSteps, unpaired } from "./chat-turns.ts";
import { objectIn, type Rule, text, unknownField } from "./rule.ts";
import { googleSchemaRefusal } from "./schema.ts";
import { checkState } from "./state.ts";

const FIELDS = new Set([
  ...["model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n"],
  ...["stop", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "seed"],
  ...["response_format", "reasoning_effort", "presence_penalty", "frequency_penalty", "modalities"],
  ...["logprobs", "top_logprobs", "extra_body", "user"],
]);

const NEWER_FLASH = /^gemini-3\.([678]-flash|5-flash-lite)/;

const FILL = "skip_thought_signature_validator";

/** Returns the thought signature of a call. */
function signatureOf(call: Readonly<Record<string, unknown>> | undefined): unknown {
  const extra = objectIn(objectIn(call ?? {}, "extra_content") ?? {}, "google");
  return extra?.["thought_signature"];
}

export const google: readonly Rule[] = [
  {
    id: "g-unknown-field",
    source: "liliMozi/openhanako#394; Lore-Hex/quill-router#1162",
    refuses: ({ body }) => {
      const name = unknownField(body, FIELDS);
      return name && `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`;
    },
  },
  {
    id: "g-not-empty",
    source: "Gemini docs: generateContent",
    refuses: ({ turns }) =>
      turns.every(({ role }) => role === "system" || role === "developer") &&
      "* GenerateContentRequest.contents: contents is not specified",
  },
  {
    id: "g-effort-values",
    source: "agentjido/req_llm#971; Gemini docs: OpenAI compatibility, thinking",
    refuses: ({ model, body }) => {
      const effort = body["reasoning_effort"];
      if (effort == null) return undefined;
      const known = ["low", "medium", "high"];
      if (/^gemini-3/.test(model) && !/^gemini-3\.(1-pro|[78])/.test(model)) known.push("minimal");
      if (/^gemini-2\.5-flash/.test(model)) known.push("none", "minimal");
      if (known.includes(text(effort))) return undefined;
      return /^gemini-2\.5/.test(model)
        ? "Budget 0 is invalid. This model only works in thinking mode."
        : `Thinking level ${text(effort).toUpperCase()} is not supported for this model.`;
    },
  },
  {
    id: "g-penalties",
    models: NEWER_FLASH,
    source: "Gemini docs: whats-new-gemini-3.6",
    refuses: ({ body }) =>
      (body["presence_penalty"] != null || body["frequency_penalty"] != null) &&
      "Penalty is not supported for this model.",
  },
  {
    id: "g-model-turn",
    models: NEWER_FLASH,
    source: "Zoo-Code-Org/Zoo-Code#1052",
    refuses: ({ turns }) =>
      turns.at(-1)?.["role"] === "assistant" &&
      "Requests ending with a model turn are not supported.",
  },
  {
    id: "g-cap-range",
    source: "Gemini docs: models",
    refuses: (facts) =>
      capOf(facts) > 65_536 &&
      `Unable to submit request because it has a maxOutputTokens value of ${capOf(facts)} but the supported range is from 1 (inclusive) to 65537 (exclusive).`,
  },
  {
    id: "g-tool-name",
    source: "Gemini docs: function calling",
    refuses: (facts) =>
      facts.tools.some(
        (tool) =>
          !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(text(objectIn(tool, "function")?.["name"])),
      ) && "Invalid function name. Must start with a letter or an underscore.",
  },
  {
    id: "g-schema",
    source:
      "MadAppGang/claudish#232; NousResearch/hermes-agent#69924; anomalyco/opencode#12784; NousResearch/hermes-agent#67773; diegosouzapw/OmniRoute#760",
    refuses: googleSchemaRefusal,
  },
  {
    id: "g-response-count",
    source: "google-gemini/gemini-cli#3814",
    refuses: (facts) =>
      unpaired(facts) !== undefined &&
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
  },
  {
    id: "g-turn-order",
    source: "google-gemini/gemini-cli#26486",
    refuses: (facts) => {
      const spoken = facts.turns.filter(({ role }) => role !== "system" && role !== "developer");
      return (
        spoken.some((turn, at) => {
          const before = spoken[at - 1]?.["role"];
          return callsOf(turn).length > 0 && before !== "user" && before !== "tool";
        }) &&
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
      );
    },
  },
  {
    id: "g-thought-signature, g-thought-own",
    models: /^gemini-3/,
    source:
      "Gemini docs: thought-signatures; securo-finance/securo#884; decolua/9router#4136; badrisnarayanan/antigravity-claude-proxy#18; langgenius/dify-official-plugins#2088; agentjido/req_llm#427",
    refuses: (facts) => {
      for (const turn of facts.turns) {
        for (const call of callsOf(turn)) {
          const signature = signatureOf(call);
          if (signature === undefined || signature === FILL) continue;
          if (checkState("google", "thought", signature) !== "own") {
            return "Corrupted thought signature.";
          }
        }
      }
      const bare = runningSteps(facts).find((turn) => {
        const [first] = callsOf(turn);
        return first !== undefined && signatureOf(first) === undefined;
      });
      const [call] = bare ? callsOf(bare) : [];
      const name = text(objectIn(call ?? {}, "function")?.["name"]);
      return (
        bare &&
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\`, position 2.`
      );
    },
  },
  {
    id: "g-context",
    source: "Gemini docs: tokens",
    refuses: ({ inputTokens }) =>
      inputTokens > 1_048_576 &&
      `The input token count (${inputTokens}) exceeds the maximum number of tokens allowed (1048576).`,
  },
];
