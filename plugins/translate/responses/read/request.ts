import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  type Profile,
} from "../../../../core/plugin/index.ts";
import { textBlocks } from "../../messages/content.ts";
import { limitOf } from "../../messages/limit.ts";
import { addSampling } from "../../messages/sampling.ts";
import { isGiven, type Scope } from "../../messages/scope.ts";
import { addFormat, addSettings } from "../../messages/settings.ts";
import { arrange } from "../../messages/turns.ts";
import { ToolNames } from "../../names.ts";
import { Notes, type Translated } from "../../notes.ts";
import type { MessagesRequest } from "../../types.ts";
import { Items } from "./items.ts";
import { addReasoning, showsReasoning } from "./reasoning.ts";
import { type ClientTool, ClientTools, chosenTools } from "./tools.ts";

/** Facts about a Responses request that the translation of its reply needs. Plain data: threads pass it on. */
export interface ResponsesContext {
  /** The model name in the request. The reply repeats it. */
  readonly model: string;
  /** True if the client wants to read the reasoning. */
  readonly showsReasoning: boolean;
  /** The settings of the request, which the reply repeats. */
  readonly settings: JsonObject;
  /** The client's tools, by the names that the model sees. */
  readonly tools: ReadonlyMap<string, ClientTool>;
}

const TRANSLATED = new Set([
  ...["model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls"],
  ...["max_output_tokens", "temperature", "top_p", "reasoning", "text", "stream"],
  ...["safety_identifier", "user", "service_tier"],
  // Nothing is stored here, reasoning comes back encrypted in any case, and usage is always sent.
  ...["store", "include", "background", "truncation", "stream_options"],
  ...["previous_response_id", "conversation", "prompt", "top_logprobs", "max_tool_calls"],
]);

const REPEATED = [
  ...["instructions", "max_output_tokens", "parallel_tool_calls", "reasoning", "temperature"],
  ...["text", "tool_choice", "tools", "top_p", "metadata"],
];

/** Items that declare tools in the conversation: the client has found them itself, or sends them there. */
const TOOL_ITEMS = new Set<unknown>(["additional_tools", "tool_search_output"]);

/**
 * Translates the request of a Responses client into one of Messages. `isLast`: it is not translated further, so
 * its turns are ordered as a Messages upstream requires. Never throws.
 */
export function responsesToMessagesRequest(
  body: unknown,
  profile: Profile,
  isLast: boolean,
): Translated<MessagesRequest, ResponsesContext> {
  const notes = new Notes();
  const tools = new ClientTools(notes);
  const given = objectOf(body) ?? {};
  const model = typeof given["model"] === "string" ? given["model"] : "";
  const request: MessagesRequest = { model, max_tokens: 0, messages: [] };
  const scope: Scope = { profile, notes, names: new ToolNames(), isLast };
  if (isObject(body)) fill(request, body, tools, scope);
  else notes.invalid("body", "must be a JSON object");
  if (notes.rejected) return { ok: false, reject: notes.rejected };
  const settings = Object.fromEntries(
    REPEATED.flatMap((name) => (isGiven(given[name]) ? [[name, given[name]]] : [])),
  );
  const context = {
    ...{ model, settings, showsReasoning: showsReasoning(given) },
    tools: tools.clients,
  };
  return { ok: true, body: request, dropped: notes.dropped, context };
}

function fill(request: MessagesRequest, body: JsonObject, tools: ClientTools, scope: Scope): void {
  const { notes } = scope;
  refuseDemands(body, scope);
  addSettings(body, request, TRANSLATED, notes);
  addTools(request, body, tools, scope);
  addConversation(request, body, tools, scope);
  addReasoning(request, body, notes);
  request.max_tokens = limitOf(body, "max_output_tokens", request, scope);
  const { temperature, top_p } = body;
  addSampling({ temperature, top_p }, request, scope);
  const text = notes.object(body, "text", "text");
  if (isGiven(text?.["verbosity"])) notes.drop("text.verbosity");
  addFormat(objectOf(text?.["format"]), "text.format", "text.format.schema", request, notes);
  const tier = body["service_tier"];
  if (tier === "default") request.service_tier = "standard_only";
  else if (tier === "auto") request.service_tier = "auto";
  else if (isGiven(tier)) notes.drop("service_tier");
}

/** Applies the settings that change in the conversation, from their place on. The last ones count for the reply. */
export function withUpdates(body: JsonObject): JsonObject {
  let updated = body;
  for (const item of arrayOf(body["input"])) {
    if (!isObject(item) || item["type"] !== "configuration_update") continue;
    for (const name of ["reasoning", "text"] as const) {
      const setting = { ...objectOf(updated[name]), ...objectOf(item[name]) };
      if (isObject(item[name])) updated = { ...updated, [name]: setting };
    }
  }
  return updated;
}

/** Rejects demands that the gateway cannot fulfil, because it stores nothing. */
function refuseDemands(body: JsonObject, { notes }: Scope): void {
  for (const name of ["previous_response_id", "conversation", "prompt"]) {
    if (isGiven(body[name])) notes.unsupported(name, "nothing is stored: send the whole input");
  }
  if (body["background"] === true) notes.unsupported("background", "is not available");
  if (body["truncation"] === "auto") notes.unsupported("truncation", "must be disabled");
  // It limits the calls of the provider's own tools, of which there are none.
  if (isGiven(body["max_tool_calls"])) notes.drop("max_tool_calls");
  const wantsOdds = arrayOf(body["include"]).includes("message.output_text.logprobs");
  if (wantsOdds || Number(body["top_logprobs"] ?? 0) > 0) {
    notes.unsupported("top_logprobs", "this model gives no probabilities");
  }
}

function addTools(
  request: MessagesRequest,
  body: JsonObject,
  tools: ClientTools,
  { notes }: Scope,
): void {
  tools.add(notes.array(body, "tools", "tools") ?? [], "tools");
  for (const [at, given] of arrayOf(body["input"]).entries()) {
    const item = objectOf(given);
    const path = `input[${at}].tools`;
    if (TOOL_ITEMS.has(item?.["type"])) tools.add(arrayOf(item?.["tools"]), path);
  }
  const { tools: allowed, choice } = chosenTools(body, tools, notes);
  if (allowed.length > 0) request.tools = [...allowed];
  if (choice) request.tool_choice = choice;
}

function addConversation(
  request: MessagesRequest,
  body: JsonObject,
  tools: ClientTools,
  scope: Scope,
): void {
  const { notes } = scope;
  const { input } = body;
  const items = new Items(scope, tools);
  if (typeof input === "string") items.add({ role: "user", content: input }, "input");
  else if (!Array.isArray(input)) notes.invalid("input", "must be a string or an array of items");
  else for (const [at, item] of input.entries()) items.add(item, `input[${at}]`);
  const turns = items.end();
  const instructions = notes.string(body, "instructions", "instructions") ?? "";
  const { turns: made, hoisted } = scope.isLast
    ? arrange(turns, scope.profile)
    : { turns, hoisted: [] };
  const system = [...textBlocks(instructions), ...items.system, ...hoisted];
  if (made.length === 0 && system.length === 0) notes.invalid("input", "has no content");
  if (made.length === 0) request.messages = [{ role: "user", content: system }];
  else {
    request.messages = made;
    if (system.length > 0) request.system = system;
  }
}
