import { type JsonObject, objectOf } from "../../../core/plugin/index.ts";
import { inWords } from "../reply-format.ts";
import { editReasoning, isForced, switchThinkingOff } from "./chat-reasoning.ts";
import { addToHead, dropEmptyCalls, editReplay, editRoles, joinAfterTools } from "./chat-turns.ts";
import type { Draft } from "./draft.ts";
import { editImages, omitFiles } from "./media.ts";
import { editChatSchemas } from "./schemas.ts";

/** Edits a Chat request to the form that its model accepts. Each edit is one field or one entry. */
export function editChat(draft: Draft): void {
  editImages(draft, "messages");
  omitFiles(draft);
  dropEmptyCalls(draft);
  editRoles(draft);
  editSampling(draft);
  editStop(draft);
  editPenalties(draft);
  editForcedTool(draft);
  editReasoning(draft);
  editChatSchemas(draft);
  editFormat(draft);
  editReplay(draft);
  joinAfterTools(draft);
  editPrefill(draft);
  if (draft.profile.reasoning_split) draft.set("reasoning_split", true);
  closeFields(draft);
}

function editSampling(draft: Draft): void {
  const { sampling, temperature_range: range } = draft.profile;
  if (sampling === "fixed" || typeof sampling === "object") {
    const taken = typeof sampling === "object" ? sampling : { temperature: 1, top_p: 1 };
    // A default value is dropped without a note: the reply is the same.
    for (const name of ["temperature", "top_p"] as const) {
      if (draft.body[name] === taken[name]) draft.remove(name);
      else draft.drop(name);
    }
    draft.drop("top_k");
  }
  const { temperature } = draft.body;
  if (range && typeof temperature === "number") {
    draft.set("temperature", Math.min(range[1], Math.max(range[0], temperature)));
  }
}

/** Other sequences that the model does not take are the gateway's to cut at. */
function editStop(draft: Draft): void {
  const given = draft.body["stop"];
  const isNone = given == null || given === "" || (Array.isArray(given) && given.length === 0);
  if (isNone && draft.profile.stop === false) draft.remove("stop");
}

function editPenalties(draft: Draft): void {
  if (draft.profile.penalties !== false) return;
  for (const name of ["presence_penalty", "frequency_penalty"]) {
    if (draft.body[name] === 0) draft.remove(name);
    else draft.drop(name);
  }
  draft.drop("logit_bias");
  if (draft.body["logprobs"] === true || Number(draft.body["top_logprobs"] ?? 0) > 0) {
    draft.refuse("logprobs", "this model gives no probabilities");
  }
  draft.remove("logprobs");
  draft.remove("top_logprobs");
}

function editForcedTool(draft: Draft): void {
  const { forced_tools: way } = draft.profile;
  if (way === "auto" && draft.body["tool_choice"] === "none") {
    // A model without tools calls none.
    draft.remove("tools");
    draft.remove("tool_choice");
    draft.remove("parallel_tool_calls");
  }
  if (way === undefined || way === "native" || !isForced(draft)) return;
  if (way === "refuse") {
    draft.refuse("tool_choice", "this model cannot be made to call a tool: send auto");
  } else if (way === "thinking_off") {
    switchThinkingOff(draft);
  } else {
    const name = objectOf(draft.object("tool_choice")?.["function"])?.["name"];
    const sentence =
      typeof name === "string" ? `Call the tool ${name} now.` : "Call one of the tools now.";
    addToHead(draft, sentence);
    draft.set("tool_choice", "auto");
    draft.nameDropped("tool_choice");
  }
}

/** A model without schemas is given the schema in words, and JSON mode. */
function editFormat(draft: Draft): void {
  const format = draft.object("response_format");
  if (draft.profile.formats !== "json_object" || format?.["type"] !== "json_schema") return;
  const schema: JsonObject = objectOf(objectOf(format["json_schema"])?.["schema"]) ?? {};
  addToHead(draft, inWords(schema));
  draft.set("response_format", { type: "json_object" });
  draft.nameDropped("response_format");
}

/** Edits a last turn of the assistant for a model that does not continue it. */
function editPrefill(draft: Draft): void {
  if (draft.profile.prefill !== false) return;
  if (draft.unread && draft.unread.lastRole !== "assistant") return;
  const messages = draft.entries("messages");
  if (objectOf(messages.at(-1))?.["role"] !== "assistant") return;
  if (draft.isTranslated) {
    draft.set("messages", [...messages, { role: "user", content: "Continue." }]);
  } else draft.refuse("messages", "this model continues no reply: end with a user message");
}

function closeFields(draft: Draft): void {
  const { fields } = draft.profile;
  if (!fields) return;
  for (const name of Object.keys(draft.body)) if (!fields.includes(name)) draft.drop(name);
  // A null was not named as dropped, but its field is still unknown to the server.
  for (const name of Object.keys(draft.body)) if (!fields.includes(name)) draft.remove(name);
}
