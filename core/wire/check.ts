import { arrayOf, countOf, type JsonObject } from "../process/json.ts";
import { type Refusal, refuse } from "./refusal.ts";

const SIZE = /^([1-9]\d{0,4}x[1-9]\d{0,4}|auto)$/;

/** The rules for fields, and what a refusal says of a value that breaks one. Fields of the last three may be absent. */
const RULES = {
  text: [(value) => typeof value === "string" && value !== "", "a string is required"],
  list: [(value) => arrayOf(value).length > 0, "a list with at least one item is required"],
  whole: [(value) => countOf(value) !== undefined, "a whole number is required"],
  flag: [(value) => value == null || typeof value === "boolean", "must be true or false"],
  count: [
    (value) => value == null || (countOf(value) ?? 0) >= 1,
    "must be a whole number of at least 1",
  ],
  size: [
    (value) => value == null || (typeof value === "string" && SIZE.test(value)),
    "must have the form <width>x<height>, such as 1024x1024",
  ],
} as const satisfies Readonly<Record<string, readonly [(value: unknown) => boolean, string]>>;

export type FieldRule = keyof typeof RULES;

/** Returns a 400 for the first field of `body` that breaks its rule, or undefined. */
export function checkFields(
  body: JsonObject,
  rules: Readonly<Record<string, FieldRule>>,
): Refusal | undefined {
  for (const name in rules) {
    const [isMet, problem] = RULES[rules[name] ?? "flag"];
    if (!isMet(body[name])) return refuse.badRequest(`${name}: ${problem}`, name);
  }
  return undefined;
}

/** Returns the error body that clients of Chat, Responses, images and speech expect. */
export function openAiErrorBody({ message, type, param, code }: Refusal): string {
  const own = code ?? (type === "insufficient_balance" ? type : null);
  return JSON.stringify({ error: { message, type, param, code: own } });
}
