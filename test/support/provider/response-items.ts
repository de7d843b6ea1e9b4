import type { JsonObject } from "../../../core/process/json.ts";
import { pieces } from "../../../plugins/simulator/text.ts";
import { type Answer, argumentDeltas, type ToolCall, textDeltas } from "./answer.ts";

/** One event of an output item, before its indexes and sequence number are added. */
interface Step {
  readonly type: string;
  readonly fields: JsonObject;
  readonly delta?: string;
}

/** One output item: its announcement, the events that fill it, and its final form. */
interface OutputItem {
  readonly opening: JsonObject;
  readonly finished: JsonObject;
  steps(): Iterable<Step>;
}

/** Returns the output items: reasoning, text, refusal, function calls, then the text after them. */
export function outputItems(answer: Answer): OutputItem[] {
  const { id, thinking, text, refusal, tools, textAfter } = answer;
  const { compaction } = answer.directive;
  if (compaction !== undefined) return [compactionItem(`cmp_${id}`, compaction)];
  const items: OutputItem[] = [];
  if (thinking !== "") items.push(reasoningItem(`rs_${id}`, thinking, answer.directive.signature));
  if (text !== "") items.push(textItem(`msg_${id}`, text, () => textDeltas(answer)));
  if (refusal !== "") items.push(refusalItem(`msg_${id}_refusal`, refusal));
  for (const [index, tool] of tools.entries()) items.push(callItem(answer, tool, index));
  if (textAfter !== "") items.push(textItem(`msg_${id}_after`, textAfter, () => pieces(textAfter)));
  return items;
}

function compactionItem(id: string, encrypted_content: string): OutputItem {
  const item = { id, type: "compaction", encrypted_content };
  return { opening: item, finished: item, *steps() {} };
}

function reasoningItem(id: string, text: string, signature: string | undefined): OutputItem {
  const part = { type: "summary_text", text };
  const fields = { summary_index: 0 };
  return {
    opening: { id, type: "reasoning", summary: [] },
    finished: { id, type: "reasoning", summary: [part], encrypted_content: signature },
    *steps() {
      const empty = { ...part, text: "" };
      yield { type: "response.reasoning_summary_part.added", fields: { ...fields, part: empty } };
      for (const delta of pieces(text)) {
        yield { type: "response.reasoning_summary_text.delta", fields, delta };
      }
      yield { type: "response.reasoning_summary_text.done", fields: { ...fields, text } };
      yield { type: "response.reasoning_summary_part.done", fields: { ...fields, part } };
    },
  };
}

function textItem(id: string, text: string, deltas: () => Iterable<string>): OutputItem {
  const part = { type: "output_text", annotations: [], logprobs: [], text };
  const fields = { content_index: 0 };
  const spoken = { ...fields, logprobs: [] };
  return {
    ...messageItem(id, part),
    *steps() {
      const empty = { ...part, text: "" };
      yield { type: "response.content_part.added", fields: { ...fields, part: empty } };
      for (const delta of deltas()) {
        yield { type: "response.output_text.delta", fields: spoken, delta };
      }
      yield { type: "response.output_text.done", fields: { ...spoken, text } };
      yield { type: "response.content_part.done", fields: { ...fields, part } };
    },
  };
}

function refusalItem(id: string, refusal: string): OutputItem {
  const part = { type: "refusal", refusal };
  const fields = { content_index: 0 };
  return {
    ...messageItem(id, part),
    *steps() {
      const empty = { ...part, refusal: "" };
      yield { type: "response.content_part.added", fields: { ...fields, part: empty } };
      for (const delta of pieces(refusal)) yield { type: "response.refusal.delta", fields, delta };
      yield { type: "response.refusal.done", fields: { ...fields, refusal } };
      yield { type: "response.content_part.done", fields: { ...fields, part } };
    },
  };
}

function messageItem(id: string, part: JsonObject): Pick<OutputItem, "opening" | "finished"> {
  const item = { id, type: "message", role: "assistant" };
  return {
    opening: { ...item, status: "in_progress", content: [] },
    finished: { ...item, status: "completed", content: [part] },
  };
}

function callItem(answer: Answer, tool: ToolCall, index: number): OutputItem {
  const number = String(index).padStart(2, "0");
  const { name, namespace, custom } = tool;
  const given = custom ? "input" : "arguments";
  const item = {
    id: `${custom ? "ctc" : "fc"}_${answer.id.slice(0, 22)}${number}`,
    type: custom ? "custom_tool_call" : "function_call",
    call_id: tool.id ?? `call_${answer.id.slice(0, 22)}${number}`,
    name,
    ...(namespace !== undefined && { namespace }),
  };
  return {
    opening: { ...item, status: "in_progress", [given]: "" },
    finished: { ...item, status: "completed", [given]: tool.arguments },
    *steps() {
      const type = `response.${custom ? "custom_tool_call_input" : "function_call_arguments"}`;
      for (const delta of argumentDeltas(answer, tool)) {
        yield { type: `${type}.delta`, fields: {}, delta };
      }
      const fields = { ...(!custom && { name }), [given]: tool.arguments };
      yield { type: `${type}.done`, fields };
    },
  };
}
