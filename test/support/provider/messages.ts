import { isObject, type JsonObject } from "../../../core/process/json.ts";
import { positiveInteger } from "../../../plugins/simulator/ask.ts";
import type { Answer, Ending } from "./answer.ts";
import { type Ask, type Problem, problem, readTurns, strings } from "./ask.ts";
import { blocks } from "./message-blocks.ts";
import { errorDetail, eventStream, type Protocol } from "./protocol.ts";

/** Anthropic's Messages protocol. Source: the declarations of `@anthropic-ai/sdk`. */
export const messages: Protocol = {
  path: "/v1/messages",
  idHeader: "request-id",
  read,
  whole,
  events,
  alwaysStreams: false,
  streamType: () => eventStream,
  error(status, directive, id) {
    const { type, message } = errorDetail(directive, errorTypes, status);
    return JSON.stringify({ type: "error", error: { type, message }, request_id: `req_${id}` });
  },
  errorEvent({ directive }) {
    const { type, message } = errorDetail(directive, errorTypes, 529);
    return frame("error", { type: "error", error: { type, message } });
  },
  ping: 'event: ping\ndata: {"type": "ping"}\n\n',
};

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

const stopReasons: Readonly<Record<Ending, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tools: "tool_use",
  refusal: "refusal",
  stop_sequence: "stop_sequence",
};

function read(body: JsonObject): Ask | Problem {
  const { model, messages: turns } = body;
  if (typeof model !== "string") return problem("model: Field required");
  if (!Array.isArray(turns)) return problem("messages: Field required");
  if (turns.length === 0) return problem("messages: at least one message is required");
  const wrong = turns.findIndex((turn) => !isObject(turn) || typeof turn["role"] !== "string");
  if (wrong >= 0) return problem(`messages.${wrong}.role: Field required`);
  // With 0, the model says nothing.
  const maxTokens = body["max_tokens"] === 0 ? 0 : positiveInteger(body["max_tokens"]);
  if (maxTokens === undefined)
    return problem("max_tokens: Field required, an integer of 0 or more");
  return {
    model,
    stream: body["stream"] === true,
    ...readTurns(turns, body["system"], body["tools"]),
    maxTokens,
    stops: strings(body["stop_sequences"]),
    choices: 1,
    images: 0,
    includeUsage: true,
    body,
  };
}

function whole(answer: Answer): string {
  const content = blocks(answer).map(({ start, filled }) => ({ ...start, ...filled }));
  return JSON.stringify(messageOf(answer, content, stopReason(answer), answer.usage.output));
}

function* events(answer: Answer): Generator<string> {
  const { directive, usage } = answer;
  const opening = messageOf(answer, [], null, Math.min(1, usage.output));
  yield frame("message_start", { type: "message_start", message: opening });
  let index = 0;
  for (const block of blocks(answer)) {
    const content_block = block.start;
    yield frame("content_block_start", { type: "content_block_start", index, content_block });
    const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
    for (const delta of block.deltas()) yield `${head}${delta}}\n\n`;
    yield frame("content_block_stop", { type: "content_block_stop", index });
    index++;
  }
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = inputUsage(answer);
  yield frame("message_delta", {
    type: "message_delta",
    delta: {
      stop_reason: stopReason(answer),
      stop_sequence: answer.stopSequence,
      stop_details: stopDetails(answer),
    },
    usage:
      directive.usage === "missing"
        ? undefined
        : {
            input_tokens,
            cache_creation_input_tokens,
            cache_read_input_tokens,
            output_tokens: usage.output,
            output_tokens_details: thinkingDetails(answer),
          },
  });
  yield frame("message_stop", { type: "message_stop" });
}

/** Returns the message object. At the start of a stream `stop_reason` is null. */
function messageOf(
  answer: Answer,
  content: readonly JsonObject[],
  stop_reason: string | null,
  outputTokens: number,
): JsonObject {
  const { id, ask, directive } = answer;
  const ended = stop_reason !== null;
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: ask.model,
    content,
    stop_reason,
    stop_sequence: ended ? answer.stopSequence : null,
    stop_details: ended ? stopDetails(answer) : null,
    usage:
      directive.usage === "missing"
        ? undefined
        : fullUsage(answer, outputTokens, !ended && directive.usage === "late"),
  };
}

function stopReason({ directive, ending }: Answer): string {
  return directive.stop ?? stopReasons[ending];
}

function stopDetails({ directive, ending, refusal }: Answer): JsonObject | null {
  if (ending !== "refusal" || directive.stop !== undefined) return null;
  return { type: "refusal", category: "general_harms", explanation: refusal };
}

/** `input_tokens` of this protocol excludes cache reads and writes. */
function inputUsage({ usage }: Answer) {
  return {
    input_tokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
  };
}

function fullUsage(answer: Answer, output_tokens: number, late: boolean): JsonObject {
  const input = inputUsage(answer);
  return {
    input_tokens: late ? 0 : input.input_tokens,
    cache_creation_input_tokens: input.cache_creation_input_tokens,
    cache_read_input_tokens: input.cache_read_input_tokens,
    cache_creation: {
      ephemeral_5m_input_tokens: input.cache_creation_input_tokens,
      ephemeral_1h_input_tokens: 0,
    },
    output_tokens,
    output_tokens_details: thinkingDetails(answer),
    service_tier: "standard",
  };
}

function thinkingDetails({ usage }: Answer): JsonObject | undefined {
  return usage.reasoning === 0 ? undefined : { thinking_tokens: usage.reasoning };
}

function frame(name: string, data: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
