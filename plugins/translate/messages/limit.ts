import type { JsonObject } from "../../../core/plugin/index.ts";
import type { Scope } from "./scope.ts";

/**
 * The limit of a request that is translated further though its client sets none. Chat and Responses need no limit, and
 * providers refuse one that does not fit into the window beside the prompt: MoonshotAI/kimi-cli#2011. JSON has no such number.
 */
export const UNLIMITED = Number.POSITIVE_INFINITY;

/** For a model whose profile and catalogue state none. */
const DEFAULT_TOKENS = 32_000;

/** Returns the output limit of a request whose client states it as `name`, at most the model's. Messages needs one. */
export function limitOf(body: JsonObject, name: string, { notes, profile, isLast }: Scope): number {
  const given = notes.number(body, name, name);
  if (given !== undefined && (!Number.isSafeInteger(given) || given < 1)) {
    notes.invalid(name, "must be a whole number of 1 or more");
  }
  if (given === undefined && !isLast) return UNLIMITED;
  const wanted = given ?? profile.default_max_tokens ?? DEFAULT_TOKENS;
  return Math.min(wanted, profile.max_output_tokens ?? wanted);
}
