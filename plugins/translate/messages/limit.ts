import type { JsonObject, Profile } from "../../../core/plugin/index.ts";
import { BUDGETS } from "../profile.ts";
import type { MessagesRequest } from "../types.ts";
import type { Scope } from "./scope.ts";

/**
 * The limit of a request that is translated further though its client sets none. Chat and Responses need no limit, and
 * providers refuse one that does not fit into the window beside the prompt: MoonshotAI/kimi-cli#2011. JSON has no such number.
 */
export const UNLIMITED = Number.POSITIVE_INFINITY;

/** For a model whose profile and catalogue state none. */
export const DEFAULT_TOKENS = 32_000;

/**
 * Returns the output limit of a request whose client states it as `name`, at most the model's. Messages needs one. `request`
 * has its thinking already.
 */
export function limitOf(
  body: JsonObject,
  name: string,
  request: MessagesRequest,
  { notes, profile, isLast }: Scope,
): number {
  const given = notes.number(body, name, name);
  if (given !== undefined && (!Number.isSafeInteger(given) || given < 1)) {
    notes.invalid(name, "must be a whole number of 1 or more");
  }
  if (given === undefined && !isLast) return UNLIMITED;
  const usual = profile.default_max_tokens ?? DEFAULT_TOKENS;
  const wanted = given ?? usual + thinkingBeside(usual, request, profile);
  return Math.min(wanted, profile.max_output_tokens ?? wanted);
}

/** Returns the tokens of thinking that go on top of a default limit, so that the reply keeps its room: anomalyco/opencode#2056. */
function thinkingBeside(
  limit: number,
  { thinking, output_config: config }: MessagesRequest,
  profile: Profile,
): number {
  const stated = Math.floor(Number(thinking?.["budget_tokens"] ?? 0));
  if (stated >= limit) return stated;
  const getsBudget = thinking?.["type"] === "adaptive" && profile.thinking === "budget";
  return getsBudget ? BUDGETS[config?.effort ?? "medium"] : 0;
}
