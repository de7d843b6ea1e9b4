import { isObject, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import { sha256Hex } from "../../ids.ts";
import { UNLIMITED } from "../../messages/limit.ts";
import type { OriginalNames } from "../../names.ts";
import { Notes, type Translated } from "../../notes.ts";
import type { ChatProfile } from "../../profile.ts";
import type { MakerState } from "../../state/seal.ts";
import type { ChatMessage, ChatRequest, ChatText } from "../../types.ts";
import { addEffort } from "./effort.ts";
import { addFormat } from "./format.ts";
import type { Scope } from "./scope.ts";
import { asSystemContent, systemTexts } from "./system.ts";
import { addTools, declaredNames } from "./tools.ts";
import { Turns } from "./turns.ts";

/** Facts about a Messages request that the translation of its reply needs. Plain data: threads pass it on. */
export interface MessagesFacts {
  /** The model name in the request. The reply repeats it. */
  readonly model: string;
  readonly toolNames: OriginalNames;
  /** True if the upstream reports cached tokens beside the input. */
  readonly cachedBeside: boolean;
  /** True if the reply is translated further, to a protocol that has refusals apart from text. */
  readonly marksRefusals?: boolean;
  /** True if the reply is translated further, to a protocol that has one text. */
  readonly joinsTexts?: boolean;
  /** True if the client wants a reply in a format. */
  readonly isFormatted?: boolean;
}

export interface MessagesContext extends MessagesFacts {
  /** Packs the state of the reply. Without it, thinking is not signed. */
  readonly state?: MakerState;
}

/**
 * Fields that are translated. All others are dropped, because Chat servers refuse unknown fields.
 */
const TRANSLATED = new Set([
  "model",
  "max_tokens",
  "system",
  "messages",
  "tools",
  "tool_choice",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "stream",
  "metadata",
  "thinking",
  "output_config",
  "output_format",
  "service_tier",
  "prompt_cache_key",
]);

/** Fields that cannot be honoured: region of inference, container, MCP servers. */
const CONTRACTS = ["inference_geo", "container", "mcp_servers"];

const USER_CHARS_MAX = 64;

/** Reads the context from a request, without validating the rest of it. */
export function messagesContext(
  body: unknown,
  profile: ChatProfile,
  names = declaredNames(body, profile.tool_name_max),
): MessagesFacts {
  const request = objectOf(body) ?? {};
  const model = request["model"];
  return {
    model: typeof model === "string" ? model : "",
    toolNames: names.originals,
    cachedBeside: profile.cached_tokens === "beside",
  };
}

/**
 * Translates the request of a Messages client for a Chat Completions upstream. Takes any JSON,
 * never throws.
 */
export function messagesToChatRequest(
  body: unknown,
  profile: ChatProfile,
  state?: MakerState,
): Translated<ChatRequest, MessagesFacts> {
  const notes = new Notes();
  const names = declaredNames(body, profile.tool_name_max);
  const context = messagesContext(body, profile, names);
  const scope: Scope = { profile, notes, names, state };
  const request: ChatRequest = { model: context.model, messages: [] };
  if (isObject(body)) fill(request, body, scope);
  else notes.invalid("body", "must be a JSON object");
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  return { ok: true, body: request, dropped: notes.dropped, context };
}

function fill(request: ChatRequest, body: JsonObject, scope: Scope): void {
  refuseContracts(body, scope);
  request.messages = conversation(body, scope);
  addSettings(request, body, scope);
  // Chat streams report usage only with this option; Messages streams always do.
  if (request.stream) request.stream_options = { include_usage: true };
}

/** Refuses contracts that no other provider can honour, and drops unknown fields. */
export function refuseContracts(body: JsonObject, { notes }: Scope): void {
  for (const name of CONTRACTS) {
    const value = body[name];
    const empty =
      value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    if (!empty) notes.unsupported(name, "this model's provider cannot honour it");
  }
  for (const name of Object.keys(body)) {
    if (!TRANSLATED.has(name) && !CONTRACTS.includes(name)) notes.drop(name);
  }
}

/** Adds all fields but the conversation. Responses has the same fields under names of its own. */
export function addSettings(request: ChatRequest, body: JsonObject, scope: Scope): void {
  const { notes } = scope;
  addMaxTokens(body, request, scope);
  addTools(body, request, scope);
  addSampling(body, request, scope);
  addStops(body, request, scope);
  addEffort(body, request, scope);
  addFormat(body, request, scope);
  const { task_budget: budget } = objectOf(body["output_config"]) ?? {};
  if (budget !== undefined && budget !== null) notes.drop("output_config.task_budget");
  addUser(body, request, scope);
  addCacheKey(body, request, scope);
  const tier = body["service_tier"] ?? undefined;
  if (tier === "auto") request.service_tier = "auto";
  else if (tier === "standard_only") request.service_tier = "default";
  else if (tier !== undefined) notes.drop("service_tier");
  const stream = notes.boolean(body, "stream", "stream");
  if (stream !== undefined) request.stream = stream;
}

function conversation(body: JsonObject, scope: Scope): ChatMessage[] {
  const { notes, profile } = scope;
  const given = body["messages"];
  if (!Array.isArray(given) || given.length === 0) {
    notes.invalid("messages", "must be a non-empty array");
    return [];
  }
  const turns = new Turns(scope);
  for (const [at, item] of given.entries()) turns.add(item, `messages[${at}]`);
  turns.end();
  const system = body["system"] ?? "";
  const head: ChatText[] = [...systemTexts(system, "system", scope), ...turns.hoisted];
  if (turns.messages.length === 0) notes.invalid("messages", "have no content");
  if (head.length === 0) return turns.messages;
  const marked = profile.cache_control === "keep" && typeof system !== "string";
  return [{ role: "system", content: asSystemContent(head, marked) }, ...turns.messages];
}

function addMaxTokens(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const given = body["max_tokens"];
  if (given === UNLIMITED) return;
  if (typeof given !== "number" || !Number.isSafeInteger(given) || given < 1) {
    scope.notes.invalid("max_tokens", "must be a whole number of 1 or more");
    return;
  }
  request[scope.profile.max_tokens_field] = given;
}

function addSampling(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const { notes, profile } = scope;
  for (const name of ["temperature", "top_p"] as const) {
    const value = notes.number(body, name, name);
    if (value === undefined) continue;
    if (value < 0 || value > 1) notes.invalid(name, "must be from 0 to 1");
    request[name] = value;
  }
  const topK = notes.number(body, "top_k", "top_k");
  if (topK === undefined) return;
  if (profile.top_k) request.top_k = topK;
  else notes.drop("top_k");
}

function addStops(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const { notes } = scope;
  const stops: string[] = [];
  for (const [at, item] of (
    notes.array(body, "stop_sequences", "stop_sequences") ?? []
  ).entries()) {
    if (typeof item !== "string") notes.invalid(`stop_sequences[${at}]`, "must be a string");
    else if (item !== "") stops.push(item);
  }
  if (stops.length > 0) request.stop = stops;
}

/** The gateway's name of a session. Many Chat servers refuse the field. */
function addCacheKey(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const { prompt_cache_key: part } = body;
  const { maker, dialect } = scope.profile;
  const isKnown = scope.isResponses || (maker === "openai" && dialect === "openai");
  if (isKnown && typeof part === "string") request.prompt_cache_key = part;
}

function addUser(body: JsonObject, request: ChatRequest, scope: Scope): void {
  const metadata = scope.notes.object(body, "metadata", "metadata");
  const id = metadata && scope.notes.string(metadata, "user_id", "metadata.user_id");
  if (!id) return;
  // A hash of a long id is stable per user and fits the field.
  request.user = id.length <= USER_CHARS_MAX ? id : sha256Hex(id);
}
