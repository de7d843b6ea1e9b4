import { isObject, type JsonObject } from "../../../core/process/json.ts";

/** The maker of a model, which decides what its provider refuses and in which words. */
export type Family =
  | "anthropic"
  | "openai"
  | "google"
  | "xai"
  | "deepseek"
  | "moonshot"
  | "zai"
  | "alibaba"
  | "minimax"
  | "mistral";

type ModelProtocol = "messages" | "chat" | "responses" | "images";

/** A request as the rules read it. */
export interface Facts {
  readonly family: Family;
  readonly protocol: ModelProtocol;
  /** The model's name without a prefix of another provider. */
  readonly model: string;
  /** True if the name has Amazon's prefix. */
  readonly onBedrock: boolean;
  readonly body: JsonObject;
  /** Messages, or the items of a Responses request. */
  readonly turns: readonly JsonObject[];
  readonly tools: readonly JsonObject[];
  readonly headers: Readonly<Record<string, string>>;
  readonly inputTokens: number;
}

/** A rule by which a provider refuses requests. */
export interface Rule {
  readonly id: string;
  /** The models that have the rule; absent: all of the family. */
  readonly models?: RegExp;
  /** The status of the refusal; 400 if absent. */
  readonly status?: number;
  readonly code?: string;
  /** The page that publishes the rule, or the report that quotes its words. */
  readonly source: string;
  /** Returns the provider's words if the request breaks the rule. */
  refuses(facts: Facts): string | false | undefined;
}

/** A broken rule, and what its provider says. */
export interface Broken {
  readonly rule: Rule;
  readonly message: string;
}

/** Returns the first rule that a request breaks. */
export function firstBroken(rules: readonly Rule[], facts: Facts): Broken | undefined {
  for (const rule of rules) {
    if (rule.models && !rule.models.test(facts.model)) continue;
    const message = rule.refuses(facts);
    if (message) return { rule, message };
  }
  return undefined;
}

/** Returns the first of these fields that the body has. */
export function given(body: JsonObject, ...names: readonly string[]): string | undefined {
  return names.find((name) => body[name] !== undefined && body[name] !== null);
}

export function unknownField(body: JsonObject, known: ReadonlySet<string>): string | undefined {
  return Object.keys(body).find((name) => !known.has(name));
}

export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function objectIn(value: JsonObject, name: string): JsonObject | undefined {
  const inner = value[name];
  return isObject(inner) ? inner : undefined;
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
