import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  type Profile,
} from "../../../../core/plugin/index.ts";
import { limitOf } from "../../messages/limit.ts";
import { addSampling } from "../../messages/sampling.ts";
import { isGiven, type Scope } from "../../messages/scope.ts";
import { addFormat, addSettings } from "../../messages/settings.ts";
import { arrange } from "../../messages/turns.ts";
import { type OriginalNames, ToolNames } from "../../names.ts";
import { Notes, type Translated } from "../../notes.ts";
import { flatFormat } from "../../reply-format.ts";
import type { MessagesRequest, MessagesText } from "../../types.ts";
import { History } from "./history.ts";
import { addThinking } from "./thinking.ts";
import { addStubs, addTools, customTools, declaredTools, flatCustomTools } from "./tools.ts";

/** Facts about a Chat request that the translation of its reply needs. Plain data: threads pass it on. */
export interface ChatContext {
  /** The model name in the request. The reply repeats it. */
  readonly model: string;
  readonly toolNames: OriginalNames;
  /** The client's names of its custom tools. Their calls are translated back to custom calls. */
  readonly customTools: ReadonlySet<string>;
  /** Those of them whose calls the client knows as calls of functions, with the text as arguments. */
  readonly flatCustomTools: ReadonlySet<string>;
  /** True if the client knows calls only in their earlier form, `function_call`. */
  readonly isLegacy: boolean;
  /** True if the client wants a chunk with usage at the end of its stream. */
  readonly includeUsage: boolean;
}

const TRANSLATED = new Set([
  "model",
  "messages",
  "max_completion_tokens",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "stream",
  "stream_options",
  "tools",
  "functions",
  "tool_choice",
  "function_call",
  "parallel_tool_calls",
  "reasoning_effort",
  "thinking",
  "response_format",
  "safety_identifier",
  "user",
  "service_tier",
  "n",
  "logprobs",
  "top_logprobs",
  "modalities",
  "audio",
  "web_search_options",
]);

/** Reads the context from a request, without validating the rest of it. */
export function chatContext(body: unknown, names = new ToolNames()): ChatContext {
  const request = objectOf(body) ?? {};
  const model = request["model"];
  for (const name of declaredTools(request)) names.forMessages(name);
  return {
    model: typeof model === "string" ? model : "",
    isLegacy: isGiven(request["functions"]) && arrayOf(request["tools"]).length === 0,
    toolNames: names.originals,
    customTools: customTools(request),
    flatCustomTools: flatCustomTools(request),
    includeUsage: objectOf(request["stream_options"])?.["include_usage"] === true,
  };
}

/**
 * Translates the request of a Chat client for a Messages upstream. `isLast`: it is not translated further, so its turns are
 * ordered as that upstream requires. Takes any JSON, never throws.
 */
export function chatToMessagesRequest(
  body: unknown,
  profile: Profile,
  isLast = true,
): Translated<MessagesRequest, ChatContext> {
  const notes = new Notes();
  const names = new ToolNames();
  const context = chatContext(body, names);
  const { flatCustomTools: textTools } = context;
  const scope: Scope = { profile, notes, names, isLast, textTools };
  const request: MessagesRequest = { model: context.model, max_tokens: 0, messages: [] };
  if (isObject(body)) fill(request, body, scope);
  else notes.invalid("body", "must be a JSON object");
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  return { ok: true, body: request, dropped: notes.dropped, context };
}

function fill(request: MessagesRequest, body: JsonObject, scope: Scope): void {
  const { notes } = scope;
  refuseContracts(body, notes);
  addSettings(body, request, TRANSLATED, notes);
  const history = readHistory(body, notes, scope);
  addTools(body, request, scope);
  addConversation(request, history, scope);
  addThinking(body, request, scope);
  const limit = isGiven(body["max_completion_tokens"]) ? "max_completion_tokens" : "max_tokens";
  request.max_tokens = limitOf(body, limit, request, scope);
  const format = notes.object(body, "response_format", "response_format");
  if (format && format["type"] === undefined) notes.invalid("response_format.type", "is missing");
  const schema = "response_format.json_schema.schema";
  addFormat(flatFormat(format), "response_format", schema, request, notes);
  addStubs(history.calledNames, request);
  addSampling(body, request, scope);
  addStops(body, request, notes);
  addTier(body, request, notes);
}

/** Rejects fields that the client relies on and that the upstream cannot fulfil. */
function refuseContracts(body: JsonObject, notes: Notes): void {
  const n = notes.number(body, "n", "n");
  if (n !== undefined && n > 1) notes.unsupported("n", "this model gives one choice");
  else if (n !== undefined && n !== 1) notes.invalid("n", "must be 1");
  if (notes.boolean(body, "logprobs", "logprobs")) {
    notes.unsupported("logprobs", "this model gives no probabilities");
  }
  if ((notes.number(body, "top_logprobs", "top_logprobs") ?? 0) > 0) {
    notes.unsupported("top_logprobs", "this model gives no probabilities");
  }
  if (notes.array(body, "modalities", "modalities")?.includes("audio")) {
    notes.unsupported("modalities", "this model gives no audio");
  }
  if (isGiven(body["audio"])) notes.unsupported("audio", "this model gives no audio");
  if (isGiven(body["web_search_options"])) {
    notes.unsupported("web_search_options", "web search is not available for this model");
  }
}

function readHistory(body: JsonObject, notes: Notes, scope: Scope): History {
  const history = new History(scope);
  const given = body["messages"];
  if (!Array.isArray(given) || given.length === 0) {
    notes.invalid("messages", "must be a non-empty array");
    return history;
  }
  for (const [at, item] of given.entries()) history.add(item, at);
  history.end();
  return history;
}

function addConversation(request: MessagesRequest, history: History, scope: Scope): void {
  const { turns, hoisted } = scope.isLast
    ? arrange(history.turns, scope.profile)
    : { turns: history.turns, hoisted: [] };
  const system: MessagesText[] = [...history.head, ...hoisted];
  if (!history.hasConversation && system.length > 0) {
    // Messages requires a turn, so the system text becomes a user turn.
    request.messages = [{ role: "user", content: system }];
    return;
  }
  if (turns.length === 0) scope.notes.invalid("messages", "have no content");
  request.messages = turns;
  if (system.length > 0) request.system = system;
}

function addStops(body: JsonObject, request: MessagesRequest, notes: Notes): void {
  const given = body["stop"];
  if (!isGiven(given)) return;
  const stops: string[] = [];
  for (const item of Array.isArray(given) ? given : [given]) {
    if (typeof item !== "string") notes.invalid("stop", "must be a string or an array of strings");
    // The upstream refuses blank stop sequences.
    else if (item.trim() !== "") stops.push(item);
  }
  if (stops.length > 0) request.stop_sequences = stops;
}

function addTier(body: JsonObject, request: MessagesRequest, notes: Notes): void {
  const tier = body["service_tier"];
  if (tier === "auto" || tier === "priority") request.service_tier = "auto";
  else if (tier === "default") request.service_tier = "standard_only";
  else if (isGiven(tier)) notes.drop("service_tier");
}
