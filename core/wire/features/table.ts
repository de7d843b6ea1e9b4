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
  return (feature: Feature, why: string, instead = "leave it out"): Row => ({
    rule,
    feature,
    why,
    instead,
  });
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
  sendContent: "send the content itself",
  noState: "replies are not kept for later calls",
  sendAll: "send the whole conversation in each call",
  isLater: "a reply that comes later cannot be charged",
  notReturned: "answers that are not returned are not offered",
  ownTool: "run it yourself and offer it as a function",
  callAgain: "send another call if one fails",
} as const;

/** Rows that fields and tools share. */
export const NO_SEARCH = demand("web_search", "web search is not offered", WORDS.ownTool);
export const NO_CODE = demand("code_execution", "code is not run here", WORDS.ownTool);
export const NO_MCP = demand("mcp", "MCP servers are not called from here", WORDS.ownTool);

/** Chat keeps a reply if it is asked to, Responses unless it is asked not to: see `find.ts`. */
export const STORE: FieldRow = {
  ...row("store", ALL, hint("store", WORDS.noState)),
  replacement: false,
};

/** Fields of Messages that name customers, workspaces or payments of the provider's account, which all customers share. */
const OF_THE_ACCOUNT = [
  "billing_policy",
  "fallback_credit_token",
  "user_profile_id",
  "workspace_id",
];

const OF_ACCOUNT = optional(undefined, "all customers share the provider's account");

const OF_HEADER = hint(
  undefined,
  "betas are read from the header",
  "send the header anthropic-beta",
);

const USUAL_TIERS = ["auto", "default", "flex", "standard", "standard_only"];

function row(field: string, on: readonly Protocol[], of: Row, asks?: FieldRow["asks"]): FieldRow {
  return { field, on, ...of, ...(asks && { asks }) };
}

export const FIELDS: readonly FieldRow[] = [
  ...OF_THE_ACCOUNT.map((field) => row(field, MESSAGES, OF_ACCOUNT)),
  row("access_programs", RESPONSES, OF_ACCOUNT),
  row("background", RESPONSES, demand(undefined, WORDS.isLater)),
  row("background_options", RESPONSES, optional(undefined, WORDS.isLater)),
  row("deferred", CHAT, demand(undefined, WORDS.isLater)),
  row("previous_response_id", RESPONSES, demand("stored_state", WORDS.noState, WORDS.sendAll)),
  row("conversation", RESPONSES, demand("stored_state", WORDS.noState, WORDS.sendAll)),
  row(
    "prompt",
    RESPONSES,
    demand(
      "stored_state",
      "stored prompts are not offered",
      "send the text in instructions or input",
    ),
  ),
  row("container", ALL, demand("containers", "containers and skills are not offered")),
  row("mcp_servers", ALL, NO_MCP),
  row("web_search_options", ALL, NO_SEARCH),
  row("search_parameters", ALL, NO_SEARCH, (value) => objectOf(value)?.["mode"] !== "off"),
  row("enable_search", ALL, NO_SEARCH),
  row("web_search", ALL, NO_SEARCH, (value) => objectOf(value)?.["enable"] !== false),
  row("enable_code_interpreter", ALL, NO_CODE),
  row(
    "data_sources",
    ALL,
    demand("provider_plugins", "the provider searches no data here", WORDS.sendContent),
  ),
  row("plugins", ALL, demand("provider_plugins", "a provider's own plugins are not offered")),
  row(
    "modalities",
    CHAT,
    demand("media_output", "replies are text", "use /v1/audio/speech or /v1/images/generations"),
    isMoreThanText,
  ),
  row("audio", CHAT, demand("media_output", "replies are text", "use /v1/audio/speech")),
  row("inference_geo", ALL, demand("inference_geo", "a region cannot be chosen"), isNot("global")),
  row("best_of", ALL, demand("best_of", WORDS.notReturned, "ask for n answers"), isNot(1)),
  row("use_beam_search", ALL, demand("best_of", WORDS.notReturned)),
  row("service_tier", ALL, optional("priority", "this tier costs more"), isNot(...USUAL_TIERS)),
  row("speed", ALL, optional("fast_mode", "fast mode costs more"), isNot("standard", "normal")),
  row("fallbacks", ALL, optional("fallbacks", "other models have other prices", WORDS.callAgain)),
  row("models", ALL, optional("fallbacks", "other models have other prices", WORDS.callAgain)),
  row("provider", ALL, optional("fallbacks", "other providers have other prices")),
  row("preset", ALL, optional("fallbacks", "a preset may name another model")),
  row(
    "extra_body",
    ALL,
    optional(undefined, "the fields in it are not read here", "send the fields themselves"),
  ),
  STORE,
  row("betas", MESSAGES, OF_HEADER),
  row("anthropic_beta", MESSAGES, OF_HEADER),
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
