import type { Ask } from "../provider/ask.ts";
import type { Verdict } from "../provider/respond.ts";
import { agentScript } from "./agent.ts";
import { alibaba, withFreeThinking } from "./alibaba.ts";
import { anthropic } from "./anthropic.ts";
import { deepseek } from "./deepseek.ts";
import { errorOf } from "./errors.ts";
import { familyOf } from "./family.ts";
import { google } from "./google.ts";
import { minimax } from "./minimax.ts";
import { mistral } from "./mistral.ts";
import { moonshot } from "./moonshot.ts";
import { openai } from "./openai.ts";
import { imageRules } from "./openai-images.ts";
import { withState } from "./reply-state.ts";
import { responsesRules } from "./responses-rules.ts";
import { type Facts, type Family, firstBroken, objects, type Rule } from "./rule.ts";
import { xai, xaiChat, xaiResponses } from "./xai.ts";
import { zai } from "./zai.ts";

const CHAT_RULES: Readonly<Record<Family, readonly Rule[]>> = {
  anthropic: [],
  openai,
  google,
  xai: [...xai, ...xaiChat],
  deepseek,
  moonshot,
  zai,
  alibaba,
  minimax,
  mistral,
};

/**
 * Judges a request by the rules of its model's provider. Undefined for an unknown model, for which
 * there are no rules.
 */
export function judge(
  path: string,
  ask: Ask,
  headers: Readonly<Record<string, string>>,
): Verdict | undefined {
  const facts = factsOf(path, ask, headers);
  if (!facts) return undefined;
  const broken = firstBroken(rulesOf(facts), facts);
  return {
    error: broken && errorOf(facts.family, broken),
    directive: (given) => withFreeThinking(withState(agentScript(given, facts), facts), facts),
  };
}

function factsOf(
  path: string,
  { model: name, body, inputTokens }: Ask,
  headers: Readonly<Record<string, string>>,
): Facts | undefined {
  const protocol = PROTOCOLS[path];
  const found = familyOf(name);
  if (!protocol || !found) return undefined;
  const { family } = found;
  // Only Anthropic serves Messages, and serves nothing else.
  if ((protocol === "messages") !== (family === "anthropic")) return undefined;
  const turns = objects(protocol === "responses" ? body["input"] : body["messages"]);
  const tools = objects(body["tools"]);
  return { ...found, protocol, body, turns, tools, headers, inputTokens };
}

const PROTOCOLS: Readonly<Record<string, Facts["protocol"]>> = {
  "/v1/messages": "messages",
  "/v1/chat/completions": "chat",
  "/v1/responses": "responses",
  "/v1/images/generations": "images",
  "/v1/images/edits": "images",
};

function rulesOf({ family, protocol }: Facts): readonly Rule[] {
  if (protocol === "messages") return anthropic;
  if (protocol === "chat") return CHAT_RULES[family];
  if (protocol === "images") return family === "openai" ? imageRules : [];
  return family === "xai" ? [...responsesRules, ...xai, ...xaiResponses] : responsesRules;
}
