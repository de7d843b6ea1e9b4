import { isObject, type JsonObject, type Profile } from "../../../../core/plugin/index.ts";
import {
  addSettings,
  type MessagesFacts,
  messagesContext,
  refuseContracts,
} from "../../chat/write/request.ts";
import type { Scope } from "../../chat/write/scope.ts";
import { systemTexts } from "../../chat/write/system.ts";
import { declaredNames } from "../../chat/write/tools.ts";
import { Notes, type Translated } from "../../notes.ts";
import { chatProfile } from "../../profile.ts";
import type { MakerState } from "../../state/seal.ts";
import type { ChatRequest, ChatTool, ResponsesRequest } from "../../types.ts";
import { InputItems } from "./turns.ts";

/** Minimum output limit: the provider refuses less. */
const OUTPUT_TOKENS_MIN = 16;

/**
 * Translates the request of a Messages client for a Responses upstream. `isShown`: the client wants to
 * read the reasoning. Takes any JSON, never throws.
 */
export function messagesToResponsesRequest(
  body: unknown,
  given: Profile,
  isShown: boolean,
  state: MakerState,
): Translated<ResponsesRequest, MessagesFacts> {
  const notes = new Notes();
  const profile = chatProfile(given);
  const names = declaredNames(body, profile.tool_name_max);
  const context = messagesContext(body, profile, names);
  const scope: Scope = { profile, notes, names, state, isResponses: true };
  const request: ResponsesRequest = { model: context.model, input: [], store: false };
  if (isObject(body)) fill(request, body, isShown, scope);
  else notes.invalid("body", "must be a JSON object");
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  return { ok: true, body: request, dropped: notes.dropped, context };
}

/** Returns true if the client asks to read the reasoning, which a provider does not allow to every organisation. */
export function asksForReasoning(thinking: JsonObject | undefined): boolean {
  const display = thinking?.["display"];
  return display === "summarized" || display === "updates";
}

function fill(request: ResponsesRequest, body: JsonObject, isShown: boolean, scope: Scope): void {
  refuseContracts(body, scope);
  addConversation(request, body, scope);
  // Chat has the same settings under other names.
  const settings: ChatRequest = { model: request.model, messages: [] };
  addSettings(settings, body, scope);
  const limit = settings.max_completion_tokens ?? settings.max_tokens;
  if (limit !== undefined) request.max_output_tokens = Math.max(OUTPUT_TOKENS_MIN, limit);
  for (const name of ["temperature", "top_p"] as const) {
    const value = settings[name];
    if (value !== undefined) request[name] = value;
  }
  addTools(request, settings);
  addReasoning(request, settings, isShown, scope);
  const format = settings.response_format?.json_schema;
  if (format) request.text = { format: { type: "json_schema", ...format } };
  if (settings.service_tier !== undefined) request.service_tier = settings.service_tier;
  if (settings.user !== undefined) request.user = settings.user;
  if (settings.prompt_cache_key !== undefined) {
    request.prompt_cache_key = settings.prompt_cache_key;
  }
  if (settings.stream !== undefined) request.stream = settings.stream;
}

function addConversation(request: ResponsesRequest, body: JsonObject, scope: Scope): void {
  const { notes } = scope;
  const given = notes.array(body, "messages", "messages") ?? [];
  const turns = new InputItems(scope);
  for (const [at, item] of given.entries()) turns.add(item, `messages[${at}]`);
  turns.end();
  const system = [...systemTexts(body["system"] ?? "", "system", scope), ...turns.hoisted];
  if (turns.items.length === 0) notes.invalid("messages", "must be a non-empty array");
  request.input = turns.items;
  // The instructions are one string.
  const isMarked = system.some((text) => text.prompt_cache_breakpoint !== undefined);
  if (isMarked) notes.drop("prompt_cache_breakpoint");
  if (system.length > 0) request.instructions = system.map(({ text }) => text).join("\n\n");
}

function addTools(request: ResponsesRequest, settings: ChatRequest): void {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = settings;
  if (tools) request.tools = tools.map(flat);
  if (typeof choice === "object") {
    request.tool_choice = { type: "function", name: choice.function.name };
  } else if (choice !== undefined) request.tool_choice = choice;
  if (parallel !== undefined) request.parallel_tool_calls = parallel;
}

/** Without the field, Responses takes a schema as strict. */
function flat({ function: { strict, ...tool } }: ChatTool): JsonObject {
  return { type: "function", ...tool, strict: strict === true };
}

function addReasoning(
  request: ResponsesRequest,
  { reasoning_effort: effort }: ChatRequest,
  isShown: boolean,
  { profile }: Scope,
): void {
  if (profile.reasoning === "none") return;
  // Nothing is stored there, so the state comes back with the conversation.
  request.include = ["reasoning.encrypted_content"];
  if (effort === undefined && !isShown) return;
  request.reasoning = {
    ...(effort !== undefined && { effort }),
    ...(isShown && effort !== "none" && { summary: "auto" as const }),
  };
}
