import type { Answer, Ending } from "./answer.ts";
import {
  type Ask,
  isObject,
  type JsonObject,
  type Problem,
  positiveInteger,
  problem,
  readTurns,
  strings,
} from "./ask.ts";
import { blocks } from "./message-blocks.ts";
import { errorDetail, eventStream, type Protocol } from "./protocol.ts";

/** Anthropic's Messages protocol, as `@anthropic-ai/sdk` declares it. */
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
  const maxTokens = positiveInteger(body["max_tokens"]);
  if (maxTokens === undefined) return problem("max_tokens: Field required, a positive integer");
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
  const { directive } = answer;
  return JSON.stringify({
    ...messageHead(answer),
    content: blocks(answer).map(({ start, filled }) => ({ ...start, ...filled })),
    stop_reason: directive.stop ?? stopReasons[answer.ending],
    stop_sequence: answer.stopSequence,
    stop_details: stopDetails(answer),
    usage: directive.usage === "missing" ? undefined : fullUsage(answer, answer.usage.output),
  });
}

function* events(answer: Answer): Generator<string> {
  const { directive, usage } = answer;
  yield frame("message_start", { type: "message_start", message: startMessage(answer) });
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
      stop_reason: directive.stop ?? stopReasons[answer.ending],
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

function messageHead({ id, ask }: Answer): JsonObject {
  return { id: `msg_${id}`, type: "message", role: "assistant", model: ask.model };
}

function startMessage(answer: Answer): JsonObject {
  const { usage: mode } = answer.directive;
  const usage = fullUsage(answer, Math.min(1, answer.usage.output));
  return {
    ...messageHead(answer),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: mode === "missing" ? undefined : mode === "late" ? { ...usage, input_tokens: 0 } : usage,
  };
}

function stopDetails({ directive, ending, refusal }: Answer): JsonObject | null {
  if (ending !== "refusal" || directive.stop !== undefined) return null;
  return { type: "refusal", category: "general_harms", explanation: refusal };
}

/** This protocol's `input_tokens` leaves out what the cache read and wrote. */
function inputUsage({ usage }: Answer) {
  return {
    input_tokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
  };
}

function fullUsage(answer: Answer, output_tokens: number): JsonObject {
  return {
    ...inputUsage(answer),
    cache_creation: {
      ephemeral_5m_input_tokens: answer.usage.cacheWrite,
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
