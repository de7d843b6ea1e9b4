import type { JsonObject } from "../../core/plugin/index.ts";
import { type Answer, createdAt } from "./answer.ts";
import { type Ask, objectIn, readAsk } from "./ask.ts";
import { type Endpoint, eventStream, frame, json, openai, responsesUsage } from "./endpoint.ts";
import { pieces } from "./text.ts";

/** OpenAI's Responses. Source: the declarations of the `openai` package. */
export const responses: Endpoint = {
  ...openai,
  path: "/v1/responses",
  read: (body) =>
    readAsk(body, {
      turns: body["input"],
      name: "input",
      system: body["instructions"],
      maxTokens: body["max_output_tokens"],
      format: objectIn(body, "text")["format"],
    }),
  reply: (answer) => (answer.ask.stream ? eventStream(events(answer)) : json(finished(answer))),
  errorEvent: ({ code, message, param }, sequence_number) =>
    frame("error", { code, message, param, sequence_number }),
};

/** An output item: its announcement, the events that fill it, and its final form. */
interface Item {
  readonly opening: JsonObject;
  readonly finished: JsonObject;
  readonly steps: readonly (readonly [type: string, fields: JsonObject])[];
}

function items({ id, thinking, text, calls }: Answer): Item[] {
  const list: Item[] = [];
  if (thinking !== "") list.push(reasoning(`rs_${id}`, thinking));
  if (text !== "" || list.length + calls.length === 0) list.push(message(`msg_${id}`, text));
  for (const [index, call] of calls.entries()) {
    const number = `${id.slice(0, 22)}${String(index).padStart(2, "0")}`;
    const item = { id: `fc_${number}`, type: "function_call", call_id: `call_${number}` };
    const { name, arguments: given } = call;
    list.push({
      opening: { ...item, name, status: "in_progress", arguments: "" },
      finished: { ...item, name, status: "completed", arguments: given },
      steps: [
        ...deltas("response.function_call_arguments.delta", pieces(given, 3)),
        ["response.function_call_arguments.done", { name, arguments: given }],
      ],
    });
  }
  return list;
}

function reasoning(id: string, text: string): Item {
  const summary_index = 0;
  const part = { type: "summary_text", text };
  const name = "response.reasoning_summary";
  return {
    opening: { id, type: "reasoning", summary: [] },
    finished: { id, type: "reasoning", summary: [part] },
    steps: [
      [`${name}_part.added`, { summary_index, part: { ...part, text: "" } }],
      ...deltas(`${name}_text.delta`, pieces(text), { summary_index }),
      [`${name}_text.done`, { summary_index, text }],
      [`${name}_part.done`, { summary_index, part }],
    ],
  };
}

function message(id: string, text: string): Item {
  const content_index = 0;
  const logprobs: readonly never[] = [];
  const part = { type: "output_text", annotations: [], logprobs, text };
  const item = { id, type: "message", role: "assistant" };
  return {
    opening: { ...item, status: "in_progress", content: [] },
    finished: { ...item, status: "completed", content: [part] },
    steps: [
      ["response.content_part.added", { content_index, part: { ...part, text: "" } }],
      ...deltas("response.output_text.delta", pieces(text), { content_index, logprobs }),
      ["response.output_text.done", { content_index, logprobs, text }],
      ["response.content_part.done", { content_index, part }],
    ],
  };
}

function deltas(type: string, texts: readonly string[], fields: JsonObject = {}) {
  return texts.map((delta) => [type, { ...fields, delta }] as const);
}

function* events(answer: Answer): Generator<string> {
  let sequence_number = 0;
  const event = (type: string, fields: JsonObject) =>
    frame(type, { sequence_number: sequence_number++, ...fields });
  const opening = response(answer, "in_progress", []);
  yield event("response.created", { response: opening });
  yield event("response.in_progress", { response: opening });
  for (const [output_index, item] of items(answer).entries()) {
    yield event("response.output_item.added", { output_index, item: item.opening });
    for (const [type, fields] of item.steps) {
      yield event(type, { item_id: item.opening["id"], output_index, ...fields });
    }
    yield event("response.output_item.done", { output_index, item: item.finished });
  }
  const last = finished(answer);
  yield event(`response.${String(last["status"])}`, { response: last });
}

function finished(answer: Answer): JsonObject {
  const isCut = answer.ending === "length";
  const output = items(answer).map((item) => item.finished);
  return {
    ...response(answer, isCut ? "incomplete" : "completed", output),
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    usage: responsesUsage(answer.usage),
  };
}

export function response(
  { id, ask }: { readonly id: string; readonly ask: Pick<Ask, "body" | "model"> },
  status: string,
  output: readonly JsonObject[],
): JsonObject {
  const { body, model } = ask;
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: createdAt,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    model,
    output,
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: body["previous_response_id"] ?? null,
    reasoning: body["reasoning"] ?? { effort: null, summary: null },
    service_tier: "default",
    store: body["store"] ?? true,
    temperature: body["temperature"] ?? 1,
    text: body["text"] ?? { format: { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: body["top_p"] ?? 1,
    truncation: "disabled",
    usage: null,
    metadata: objectIn(body, "metadata"),
  };
}
