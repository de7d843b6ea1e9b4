import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { positiveInteger } from "../../../plugins/simulator/ask.ts";
import { pieces } from "../../../plugins/simulator/text.ts";
import { type Answer, argumentDeltas, createdAt, type Ending, textDeltas } from "./answer.ts";
import { type Ask, type Problem, problem, readTurns, strings } from "./ask.ts";
import { openaiError } from "./openai-error.ts";
import { eventStream, type Protocol } from "./protocol.ts";

/** OpenAI's Chat Completions protocol. Source: the declarations of the `openai` package. */
export const chat: Protocol = {
  path: "/v1/chat/completions",
  idHeader: "x-request-id",
  read,
  whole,
  events,
  alwaysStreams: false,
  streamType: () => eventStream,
  error: openaiError,
  errorEvent: ({ directive }) => `data: ${openaiError(500, directive)}\n\n`,
  ping: ": ping\n\n",
};

const finishReasons: Readonly<Record<Ending, string>> = {
  stop: "stop",
  length: "length",
  tools: "tool_calls",
  refusal: "stop",
  stop_sequence: "stop",
};

function read(body: JsonObject): Ask | Problem {
  const { model, messages: turns } = body;
  if (typeof model !== "string") return problem("you must provide a model parameter", "model");
  if (!Array.isArray(turns) || turns.length === 0) {
    return problem("Missing required parameter: 'messages'.", "messages");
  }
  const wrong = turns.findIndex((turn) => !isObject(turn) || typeof turn["role"] !== "string");
  if (wrong >= 0)
    return problem(`Missing required parameter: 'messages[${wrong}].role'.`, "messages");
  const stream = body["stream"] === true;
  const options = body["stream_options"];
  if (isObject(options) && !stream) {
    const rule = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    return problem(rule, "stream_options");
  }
  if (body["max_tokens"] != null && body["max_completion_tokens"] != null) {
    const rule =
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    return problem(rule, "max_tokens");
  }
  return {
    model,
    stream,
    ...readTurns(turns, undefined, body["tools"]),
    maxTokens:
      positiveInteger(body["max_completion_tokens"]) ?? positiveInteger(body["max_tokens"]),
    stops: strings(body["stop"]),
    choices: Math.min(positiveInteger(body["n"]) ?? 1, 128),
    images: 0,
    includeUsage: isObject(options) && options["include_usage"] === true,
    body,
  };
}

function whole(answer: Answer): string {
  const { directive, ask } = answer;
  const tool_calls = answer.tools.map((tool, index) => ({
    id: toolId(answer, index),
    type: "function",
    function: { name: tool.name, arguments: tool.arguments },
    extra_content: extraContent(answer, index),
  }));
  const spoken = thinkText(answer) + answer.text + answer.textAfter;
  const message = {
    role: "assistant",
    content: spoken === "" && (tool_calls.length > 0 || answer.refusal !== "") ? null : spoken,
    refusal: answer.refusal === "" ? null : answer.refusal,
    annotations: [],
    ...reasoningOf(answer, answer.thinking),
    tool_calls: tool_calls.length > 0 ? tool_calls : undefined,
  };
  return JSON.stringify({
    ...head(answer, "chat.completion"),
    choices: Array.from({ length: ask.choices }, (_, index) => ({
      index,
      message,
      logprobs: null,
      finish_reason: directive.stop ?? finishReasons[answer.ending],
    })),
    usage: directive.usage === "missing" ? undefined : usageOf(answer),
  });
}

function* events(answer: Answer): Generator<string> {
  const { ask, directive } = answer;
  const reports = directive.usage !== "missing";
  const usage = JSON.stringify(usageOf(answer));
  const everywhere = directive.usage === "every_chunk";
  const running = everywhere
    ? `,"usage":${usage}`
    : ask.includeUsage && reports
      ? ',"usage":null'
      : "";
  const open = `data: ${JSON.stringify(head(answer, "chat.completion.chunk")).slice(0, -1)},"choices":[`;
  const starts = Array.from({ length: ask.choices }, (_, i) => `${open}{"index":${i},"delta":`);
  const close = `,"logprobs":null,"finish_reason":null}]${running}}\n\n`;
  for (const delta of deltas(answer)) {
    for (const start of starts) yield start + delta + close;
  }
  const reason = JSON.stringify(directive.stop ?? finishReasons[answer.ending]);
  const last = directive.usage === "with_finish" ? `,"usage":${usage}` : running;
  for (const start of starts) {
    yield `${start}{},"logprobs":null,"finish_reason":${reason}}]${last}}\n\n`;
  }
  if (ask.includeUsage && reports && directive.usage !== "with_finish") {
    yield `${open}],"usage":${usage}}\n\n`;
  }
  yield "data: [DONE]\n\n";
}

/** Yields the deltas of one choice as JSON, in the order of real providers. */
function* deltas(answer: Answer): Generator<string> {
  const { directive } = answer;
  yield '{"role":"assistant","content":"","refusal":null}';
  for (const piece of pieces(thinkText(answer))) yield `{"content":${JSON.stringify(piece)}}`;
  if (directive.reasoning_field !== "think") {
    for (const piece of pieces(answer.thinking)) yield JSON.stringify(reasoningOf(answer, piece));
  }
  if (answer.text !== "") {
    for (const piece of textDeltas(answer)) yield `{"content":${JSON.stringify(piece)}}`;
  }
  for (const piece of pieces(answer.refusal)) yield `{"refusal":${JSON.stringify(piece)}}`;
  yield* toolDeltas(answer);
  for (const piece of pieces(answer.textAfter)) yield `{"content":${JSON.stringify(piece)}}`;
}

/** Returns the deltas of the tool calls: first id and name, then pieces of the arguments. */
function toolDeltas(answer: Answer): string[] {
  const calls = answer.tools.map((tool, index) => {
    const id = toolId(answer, index);
    const called = { name: tool.name, arguments: "" };
    const extra_content = extraContent(answer, index);
    const opening = { index, id, type: "function", function: called, extra_content };
    const rest = argumentDeltas(answer, tool).map((piece) => ({
      index,
      function: { arguments: piece },
    }));
    return [opening, ...rest].map((call) => JSON.stringify({ tool_calls: [call] }));
  });
  if (answer.directive.interleave !== true) return calls.flat();
  const rounds = Math.max(0, ...calls.map((call) => call.length));
  return Array.from({ length: rounds }, (_, round) =>
    calls.flatMap((call) => call.slice(round, round + 1)),
  ).flat();
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

function toolId({ id, tools }: Answer, index: number): string {
  return tools[index]?.id ?? `call_${id.slice(0, 22)}${String(index).padStart(2, "0")}`;
}

/** Returns the field of a message or a delta that holds this part of the thinking. */
function reasoningOf({ directive }: Answer, thinking: string): JsonObject {
  const field = directive.reasoning_field ?? "reasoning_content";
  if (thinking === "" || field === "think") return {};
  if (field !== "reasoning_details") return { [field]: thinking };
  const detail = { type: "reasoning.text", id: "reasoning-text-1", format: "MiniMax-response-v1" };
  return { reasoning_content: thinking, [field]: [{ ...detail, index: 0, text: thinking }] };
}

/** Returns the thinking of a model that puts it into its content. */
function thinkText({ directive, thinking }: Answer): string {
  if (directive.reasoning_field !== "think" || thinking === "") return "";
  return `<think>\n${thinking}\n</think>\n\n`;
}

/** Returns the field in which Gemini gives its thought signature, with the first call of a step. */
function extraContent({ directive: { thought_signature } }: Answer, index: number) {
  if (thought_signature === undefined || index > 0) return undefined;
  return { google: { thought_signature } };
}

/** `prompt_tokens` of this protocol includes cache reads and writes. */
function usageOf({ usage }: Answer): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite === 0 ? undefined : usage.cacheWrite,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
