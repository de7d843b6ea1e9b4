import type { Protocol } from "../../catalogue/endpoint.ts";
import type { FeatureName } from "../../catalogue/features.ts";
import { objectOf } from "../../process/json.ts";

/**
 * Everything in a request that makes a provider bill more than plain tokens, keeps state there, or
 * reads state by its id. Each row describes a part of a request, and what happens to it unless the
 * config allows the feature:
 *
 * - `hint`: left out, because the reply is the same without it.
 * - `optional`: left out, and named in the response header `x-svc-left-out`.
 * - `demand`: refused with 400. The message names the field, why, and what to do instead.
 *
 * This file has the top-level fields, `parts.ts` the parts of turns, `tools.ts` the types of tools,
 * `betas.ts` the beta headers, `names.ts` the spellings of fields. `find.ts` walks a request by them. Fields and parts that are not listed go upstream
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
  rule: "hint",
  feature: "store",
  why: WORDS.noState,
  instead: WORDS.leaveOut,
  replacement: false,
};

/** Fields of Messages that name customers, workspaces or payments of the provider's account, which all customers share. */
const OF_THE_ACCOUNT = [
  "billing_policy",
  "fallback_credit_token",
  "user_profile_id",
  "workspace_id",
];

export const FIELDS: readonly FieldRow[] = [
  ...OF_THE_ACCOUNT.map(
    (field): FieldRow => ({
      ...{ field, on: MESSAGES, rule: "optional", feature: undefined },
      ...{ why: "all customers share the provider's account", instead: WORDS.leaveOut },
    }),
  ),
  {
    field: "background",
    on: RESPONSES,
    rule: "demand",
    feature: undefined,
    why: "a reply that comes later cannot be charged",
    instead: WORDS.leaveOut,
  },
  {
    field: "deferred",
    on: CHAT,
    rule: "demand",
    feature: undefined,
    why: "a reply that comes later cannot be charged",
    instead: WORDS.leaveOut,
  },
  {
    field: "previous_response_id",
    on: RESPONSES,
    rule: "demand",
    feature: "stored_state",
    why: WORDS.noState,
    instead: WORDS.sendAll,
  },
  {
    field: "conversation",
    on: RESPONSES,
    rule: "demand",
    feature: "stored_state",
    why: WORDS.noState,
    instead: WORDS.sendAll,
  },
  {
    field: "prompt",
    on: RESPONSES,
    rule: "demand",
    feature: "stored_state",
    why: "stored prompts are not offered",
    instead: "send the text in instructions or input",
  },
  {
    field: "container",
    on: ALL,
    rule: "demand",
    feature: "containers",
    why: "containers and skills are not offered",
    instead: WORDS.leaveOut,
  },
  {
    field: "mcp_servers",
    on: ALL,
    rule: "demand",
    feature: "mcp",
    why: WORDS.noMcp,
    instead: WORDS.ownTool,
  },
  {
    field: "web_search_options",
    on: ALL,
    rule: "demand",
    feature: "web_search",
    why: WORDS.noSearch,
    instead: WORDS.ownTool,
  },
  {
    field: "search_parameters",
    on: ALL,
    rule: "demand",
    feature: "web_search",
    why: WORDS.noSearch,
    instead: WORDS.ownTool,
    asks: asksForSearch,
  },
  {
    field: "enable_search",
    on: ALL,
    rule: "demand",
    feature: "web_search",
    why: WORDS.noSearch,
    instead: WORDS.ownTool,
  },
  {
    field: "web_search",
    on: ALL,
    rule: "demand",
    feature: "web_search",
    why: WORDS.noSearch,
    instead: WORDS.ownTool,
    asks: (value) => objectOf(value)?.["enable"] !== false,
  },
  {
    field: "enable_code_interpreter",
    on: ALL,
    rule: "demand",
    feature: "code_execution",
    why: "code is not run here",
    instead: WORDS.ownTool,
  },
  {
    field: "data_sources",
    on: ALL,
    rule: "demand",
    feature: "provider_plugins",
    why: "the provider searches no data here",
    instead: WORDS.sendContent,
  },
  {
    field: "plugins",
    on: ALL,
    rule: "demand",
    feature: "provider_plugins",
    why: "a provider's own plugins are not offered",
    instead: WORDS.leaveOut,
  },
  {
    field: "modalities",
    on: CHAT,
    rule: "demand",
    feature: "media_output",
    why: "replies are text",
    instead: "use /v1/audio/speech or /v1/images/generations",
    asks: isMoreThanText,
  },
  {
    field: "audio",
    on: CHAT,
    rule: "demand",
    feature: "media_output",
    why: "replies are text",
    instead: "use /v1/audio/speech",
  },
  {
    field: "inference_geo",
    on: ALL,
    rule: "demand",
    feature: "inference_geo",
    why: "a region cannot be chosen",
    instead: WORDS.leaveOut,
    asks: isNot("global"),
  },
  {
    field: "best_of",
    on: ALL,
    rule: "demand",
    feature: "best_of",
    why: "answers that are not returned are not offered",
    instead: "ask for n answers",
    asks: isNot(1),
  },
  {
    field: "use_beam_search",
    on: ALL,
    rule: "demand",
    feature: "best_of",
    why: "answers that are not returned are not offered",
    instead: WORDS.leaveOut,
  },
  {
    field: "service_tier",
    on: ALL,
    rule: "optional",
    feature: "priority",
    why: "this tier costs more",
    instead: WORDS.leaveOut,
    asks: isNot("auto", "default", "flex", "standard", "standard_only"),
  },
  {
    field: "speed",
    on: ALL,
    rule: "optional",
    feature: "fast_mode",
    why: "fast mode costs more",
    instead: WORDS.leaveOut,
    asks: isNot("standard", "normal"),
  },
  {
    field: "fallbacks",
    on: ALL,
    rule: "optional",
    feature: "fallbacks",
    why: "other models have other prices",
    instead: WORDS.callAgain,
  },
  {
    field: "models",
    on: ALL,
    rule: "optional",
    feature: "fallbacks",
    why: "other models have other prices",
    instead: WORDS.callAgain,
  },
  {
    field: "provider",
    on: ALL,
    rule: "optional",
    feature: "fallbacks",
    why: "other providers have other prices",
    instead: WORDS.leaveOut,
  },
  {
    field: "preset",
    on: ALL,
    rule: "optional",
    feature: "fallbacks",
    why: "a preset may name another model",
    instead: WORDS.leaveOut,
  },
  {
    field: "extra_body",
    on: ALL,
    rule: "optional",
    feature: undefined,
    why: "the fields in it are not read here",
    instead: "send the fields themselves",
  },
  STORE,
  {
    field: "betas",
    on: MESSAGES,
    rule: "hint",
    feature: undefined,
    why: "betas are read from the header",
    instead: "send the header anthropic-beta",
  },
  {
    field: "anthropic_beta",
    on: MESSAGES,
    rule: "hint",
    feature: undefined,
    why: "betas are read from the header",
    instead: "send the header anthropic-beta",
  },
];

/** The row for a field that some providers read under another spelling than the one that is sent. */
export const MISSPELLED: Row = {
  rule: "demand",
  feature: undefined,
  why: "sent in another spelling, which some providers read as this field",
  instead: "send each field once, under its documented name",
};

/** The row for more than one reply of a model that is priced per call. */
export const ANSWERS: Row = {
  rule: "demand",
  feature: undefined,
  why: "this model is priced per call, for one answer",
  instead: "send one call for each answer",
};

function isNot(...harmless: readonly unknown[]): (value: unknown) => boolean {
  return (value) => !harmless.includes(value);
}

function isMoreThanText(value: unknown): boolean {
  return !Array.isArray(value) || value.some((entry) => entry !== "text");
}

function asksForSearch(value: unknown): boolean {
  return typeof value !== "object" || value === null || !("mode" in value) || value.mode !== "off";
}
