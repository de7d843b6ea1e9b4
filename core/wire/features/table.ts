import type { Protocol } from "../../catalogue/endpoint.ts";
import type { FeatureName } from "../../catalogue/features.ts";
import { objectOf } from "../../process/json.ts";

/**
 * The parts of a request that a provider bills beyond plain tokens, and those that keep or read state there. A row says
 * what happens to such a part unless the config allows its feature:
 *
 * - `hint`: left out, because the reply is the same without it.
 * - `optional`: left out, and named in the response header `x-svc-left-out`.
 * - `demand`: refused with 400. The message names the field, why, and what to do instead.
 *
 * This file has the top-level fields, `find.ts` the parts of turns and the types of tools, `betas.ts` the beta headers,
 * `names.ts` the spellings of fields. `find.ts` walks a request by them. Fields and parts that are not listed go upstream
 * unchanged. Types of tools and beta headers that are not listed do not go upstream.
 */
export interface Row {
  readonly rule: "hint" | "optional" | "demand";
  /** The feature that a config can allow; undefined if it cannot be sold at all. */
  readonly feature: FeatureName | undefined;
  /** The words of a refusal: why, and what to do instead. */
  readonly why: string;
  readonly instead: string;
}

/** A top-level field of a request. */
export interface FieldRow extends Row {
  readonly field: string;
  readonly on: readonly Protocol[];
  /** Returns true if this value asks for the feature. Default: any value that is not empty. */
  readonly asks?: (value: unknown) => boolean;
  /** The value that is sent instead of a hint; undefined leaves the field out. */
  readonly replacement?: unknown;
}

type Feature = Row["feature"];

function rowBy(rule: Row["rule"]) {
  return (feature: Feature, why: string, instead: string): Row => ({ rule, feature, why, instead });
}

export const hint = rowBy("hint");
export const optional = rowBy("optional");
export const demand = rowBy("demand");

const ALL: readonly Protocol[] = ["messages", "chat", "responses"];
const MESSAGES: readonly Protocol[] = ["messages"];
const CHAT: readonly Protocol[] = ["chat"];
const RESPONSES: readonly Protocol[] = ["responses"];

/** Words that several rows share. */
export const WORDS = {
  leaveOut: "leave it out",
  sendContent: "send the content itself",
  noState: "replies are not kept for later calls",
  sendAll: "send the whole conversation in each call",
  noSearch: "web search is not offered",
  noMcp: "MCP servers are not called from here",
  ownTool: "run it yourself and offer it as a function",
  callAgain: "send another call if one fails",
} as const;

/** Chat keeps a reply if it is asked to, Responses unless it is asked not to: see `find.ts`. */
export const STORE: FieldRow = {
  field: "store",
  on: ALL,
  ...hint("store", WORDS.noState, WORDS.leaveOut),
  replacement: false,
};

/** Fields of Messages that name customers, workspaces or payments of the provider's account, which all customers share. */
const OF_THE_ACCOUNT = [
  "billing_policy",
  "fallback_credit_token",
  "user_profile_id",
  "workspace_id",
];

const OF_ACCOUNT = optional(
  undefined,
  "all customers share the provider's account",
  WORDS.leaveOut,
);

export const FIELDS: readonly FieldRow[] = [
  ...OF_THE_ACCOUNT.map((field) => ({ field, on: MESSAGES, ...OF_ACCOUNT })),
  { field: "access_programs", on: RESPONSES, ...OF_ACCOUNT },
  {
    field: "background",
    on: RESPONSES,
    ...demand(undefined, "a reply that comes later cannot be charged", WORDS.leaveOut),
  },
  {
    field: "background_options",
    on: RESPONSES,
    ...optional(undefined, "a reply that comes later cannot be charged", WORDS.leaveOut),
  },
  {
    field: "deferred",
    on: CHAT,
    ...demand(undefined, "a reply that comes later cannot be charged", WORDS.leaveOut),
  },
  {
    field: "previous_response_id",
    on: RESPONSES,
    ...demand("stored_state", WORDS.noState, WORDS.sendAll),
  },
  { field: "conversation", on: RESPONSES, ...demand("stored_state", WORDS.noState, WORDS.sendAll) },
  {
    field: "prompt",
    on: RESPONSES,
    ...demand(
      "stored_state",
      "stored prompts are not offered",
      "send the text in instructions or input",
    ),
  },
  {
    field: "container",
    on: ALL,
    ...demand("containers", "containers and skills are not offered", WORDS.leaveOut),
  },
  { field: "mcp_servers", on: ALL, ...demand("mcp", WORDS.noMcp, WORDS.ownTool) },
  { field: "web_search_options", on: ALL, ...demand("web_search", WORDS.noSearch, WORDS.ownTool) },
  {
    field: "search_parameters",
    on: ALL,
    ...demand("web_search", WORDS.noSearch, WORDS.ownTool),
    asks: asksForSearch,
  },
  { field: "enable_search", on: ALL, ...demand("web_search", WORDS.noSearch, WORDS.ownTool) },
  {
    field: "web_search",
    on: ALL,
    ...demand("web_search", WORDS.noSearch, WORDS.ownTool),
    asks: (value) => objectOf(value)?.["enable"] !== false,
  },
  {
    field: "enable_code_interpreter",
    on: ALL,
    ...demand("code_execution", "code is not run here", WORDS.ownTool),
  },
  {
    field: "data_sources",
    on: ALL,
    ...demand("provider_plugins", "the provider searches no data here", WORDS.sendContent),
  },
  {
    field: "plugins",
    on: ALL,
    ...demand("provider_plugins", "a provider's own plugins are not offered", WORDS.leaveOut),
  },
  {
    field: "modalities",
    on: CHAT,
    ...demand("media_output", "replies are text", "use /v1/audio/speech or /v1/images/generations"),
    asks: isMoreThanText,
  },
  {
    field: "audio",
    on: CHAT,
    ...demand("media_output", "replies are text", "use /v1/audio/speech"),
  },
  {
    field: "inference_geo",
    on: ALL,
    ...demand("inference_geo", "a region cannot be chosen", WORDS.leaveOut),
    asks: isNot("global"),
  },
  {
    field: "best_of",
    on: ALL,
    ...demand("best_of", "answers that are not returned are not offered", "ask for n answers"),
    asks: isNot(1),
  },
  {
    field: "use_beam_search",
    on: ALL,
    ...demand("best_of", "answers that are not returned are not offered", WORDS.leaveOut),
  },
  {
    field: "service_tier",
    on: ALL,
    ...optional("priority", "this tier costs more", WORDS.leaveOut),
    asks: isNot("auto", "default", "flex", "standard", "standard_only"),
  },
  {
    field: "speed",
    on: ALL,
    ...optional("fast_mode", "fast mode costs more", WORDS.leaveOut),
    asks: isNot("standard", "normal"),
  },
  {
    field: "fallbacks",
    on: ALL,
    ...optional("fallbacks", "other models have other prices", WORDS.callAgain),
  },
  {
    field: "models",
    on: ALL,
    ...optional("fallbacks", "other models have other prices", WORDS.callAgain),
  },
  {
    field: "provider",
    on: ALL,
    ...optional("fallbacks", "other providers have other prices", WORDS.leaveOut),
  },
  {
    field: "preset",
    on: ALL,
    ...optional("fallbacks", "a preset may name another model", WORDS.leaveOut),
  },
  {
    field: "extra_body",
    on: ALL,
    ...optional(undefined, "the fields in it are not read here", "send the fields themselves"),
  },
  STORE,
  {
    field: "betas",
    on: MESSAGES,
    ...hint(undefined, "betas are read from the header", "send the header anthropic-beta"),
  },
  {
    field: "anthropic_beta",
    on: MESSAGES,
    ...hint(undefined, "betas are read from the header", "send the header anthropic-beta"),
  },
];

/** The row for a field that some providers read under another spelling than the one that is sent. */
export const MISSPELLED: Row = demand(
  undefined,
  "sent in another spelling, which some providers read as this field",
  "send each field once, under its documented name",
);

/** The row for more than one reply of a model that is priced per call. */
export const ANSWERS: Row = demand(
  undefined,
  "this model is priced per call, for one answer",
  "send one call for each answer",
);

function isNot(...harmless: readonly unknown[]): (value: unknown) => boolean {
  return (value) => !harmless.includes(value);
}

function isMoreThanText(value: unknown): boolean {
  return !Array.isArray(value) || value.some((entry) => entry !== "text");
}

function asksForSearch(value: unknown): boolean {
  return typeof value !== "object" || value === null || !("mode" in value) || value.mode !== "off";
}
