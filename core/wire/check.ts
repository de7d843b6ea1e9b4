import { countOf, type JsonObject } from "../process/json.ts";
import { type Refusal, refuse } from "./refusal.ts";

/**
 * The rule for a field. `text` and `list` must be present and not empty, `whole` must be present; the others may be
 * absent.
 */
export type FieldRule = "text" | "list" | "whole" | "flag" | "count";

/** Returns a 400 for the first field of `body` that breaks its rule, or undefined. */
export function checkFields(
  body: JsonObject,
  rules: Readonly<Record<string, FieldRule>>,
): Refusal | undefined {
  for (const name in rules) {
    const problem = problemOf(body[name], rules[name] ?? "flag");
    if (problem !== undefined) return refuse.badRequest(`${name}: ${problem}`, name);
  }
  return undefined;
}

function problemOf(value: unknown, rule: FieldRule): string | undefined {
  switch (rule) {
    case "text":
      return typeof value === "string" && value !== "" ? undefined : "a string is required";
    case "list":
      return Array.isArray(value) && value.length > 0
        ? undefined
        : "a list with at least one item is required";
    case "whole":
      return countOf(value) === undefined ? "a whole number is required" : undefined;
    case "flag":
      return value === undefined || value === null || typeof value === "boolean"
        ? undefined
        : "must be true or false";
    case "count":
      return value === undefined || value === null || (countOf(value) ?? 0) >= 1
        ? undefined
        : "must be a whole number of at least 1";
  }
}

/** Returns the error object that clients of Chat, Responses, images and speech expect. */
function openAiError(refusal: Refusal): { error: object } {
  return {
    error: {
      message: refusal.message,
      type: refusal.type,
      param: refusal.param,
      code: refusal.code ?? (refusal.type === "insufficient_balance" ? refusal.type : null),
    },
  };
}

export const openAiErrorBody = (refusal: Refusal): string => JSON.stringify(openAiError(refusal));
