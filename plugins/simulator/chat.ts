import type { JsonObject } from "../../core/plugin/index.ts";
import { type Answer, createdAt } from "./answer.ts";
import { objectIn, positiveInteger, readAsk } from "./ask.ts";
import { type Endpoint, eventStream, json, openai } from "./endpoint.ts";
import { pieces } from "./text.ts";

const CHOICES_MAX = 128;

/** OpenAI's Chat Completions. Source: the declarations of the `openai` package. */
export const chat: Endpoint = {
  ...openai,
  path: "/v1/chat/completions",
  read: (body) =>
    readAsk(body, {
      turns: body["messages"],
      name: "messages",
      maxTokens: body["max_completion_tokens"] ?? body["max_tokens"],
      stops: body["stop"],
      format: body["response_format"],
    }),
  reply(answer) {
    if (answer.ask.stream) return eventStream(events(answer));
    const choice = { message: message(answer), logprobs: null, finish_reason: finish(answer) };
    return json({
      ...head(answer, "chat.completion"),
      choices: choicesOf(answer).map((index) => ({ index, ...choice })),
      usage: usageOf(answer),
    });
  },
};

/** The indexes of the choices that the request wants. */
function choicesOf({ ask }: Answer): number[] {
  const length = Math.min(positiveInteger(ask.body["n"]) ?? 1, CHOICES_MAX);
  return Array.from({ length }, (_, index) => index);
}

function message({ text, thinking, calls, id }: Answer): JsonObject {
  const tool_calls = calls.map((call, index) => callOf(id, index, call.name, call.arguments));
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    annotations: [],
    ...(thinking !== "" && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls }),
  };
}

function callOf(id: string, index: number, name: string, given: string): JsonObject {
  const callId = `call_${id.slice(0, 22)}${String(index).padStart(2, "0")}`;
  return { id: callId, type: "function", function: { name, arguments: given } };
}

function* events(answer: Answer): Generator<string> {
  const { ask } = answer;
  const withUsage = objectIn(ask.body, "stream_options")["include_usage"] === true;
  const open = head(answer, "chat.completion.chunk");
  const chunk = (choices: readonly JsonObject[], usage: JsonObject | null | undefined = null) =>
    `data: ${JSON.stringify({ ...open, choices, ...(withUsage && { usage }) })}\n\n`;
  const choices = choicesOf(answer);
  for (const delta of deltas(answer)) {
    for (const index of choices)
      yield chunk([{ index, delta, logprobs: null, finish_reason: null }]);
  }
  for (const index of choices)
    yield chunk([{ index, delta: {}, logprobs: null, finish_reason: finish(answer) }]);
  if (withUsage && answer.usage) yield chunk([], usageOf(answer));
  yield "data: [DONE]\n\n";
}

/** Yields the deltas of one choice: of each call first id and name, then its arguments. */
function* deltas({ thinking, text, calls, id }: Answer): Generator<JsonObject> {
  yield { role: "assistant", content: "", refusal: null };
  for (const piece of pieces(thinking)) yield { reasoning_content: piece };
  for (const piece of pieces(text)) yield { content: piece };
  for (const [index, call] of calls.entries()) {
    yield { tool_calls: [{ index, ...callOf(id, index, call.name, "") }] };
    for (const piece of pieces(call.arguments, 3)) {
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
    }
  }
}

function head({ id, ask }: Answer, object: string): JsonObject {
  return {
    id: `chatcmpl-${id}`,
    object,
    created: createdAt,
    model: ask.model,
    service_tier: "default",
    system_fingerprint: "fp_simulator",
  };
}

function finish({ ending }: Answer): string {
  if (ending === "tools") return "tool_calls";
  return ending === "length" ? "length" : "stop";
}

/** `prompt_tokens` includes what the cache had; each choice is paid. */
function usageOf(answer: Answer): JsonObject | undefined {
  const { usage } = answer;
  if (!usage) return undefined;
  const output = usage.output * choicesOf(answer).length;
  return {
    prompt_tokens: usage.input,
    completion_tokens: output,
    total_tokens: usage.input + output,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}
