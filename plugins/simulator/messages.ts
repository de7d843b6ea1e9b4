import { type JsonObject, parseJson } from "../../core/plugin/index.ts";
import type { Answer } from "./answer.ts";
import { objectIn, positiveInteger, Refused, readAsk } from "./ask.ts";
import { type Endpoint, eventStream, frame, json } from "./endpoint.ts";
import { pieces } from "./text.ts";

/** Anthropic's Messages. Source: the declarations of `@anthropic-ai/sdk`. */
export const messages: Endpoint = {
  path: "/v1/messages",
  idHeader: "request-id",
  errorTypes: {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
  },
  read(body) {
    if (positiveInteger(body["max_tokens"]) === undefined) {
      throw new Refused("max_tokens: Field required, a positive integer");
    }
    return readMessages(body);
  },
  reply(answer) {
    if (answer.ask.stream) return eventStream(events(answer));
    const content = blocks(answer).map(({ start, filled }) => ({ ...start, ...filled }));
    return json(message(answer, { content, ...ended(answer) }, answer.usage?.output));
  },
  error: ({ type, message }, id) => ({
    type: "error",
    error: { type, message },
    request_id: `req_${id}`,
  }),
  errorEvent: ({ type, message }) => frame("error", { error: { type, message } }),
};

/** Reads a request, also one for `count_tokens`, which has no limit. */
export function readMessages(body: JsonObject) {
  return readAsk(body, {
    turns: body["messages"],
    name: "messages",
    system: body["system"],
    maxTokens: body["max_tokens"],
    stops: body["stop_sequences"],
    format: objectIn(body, "output_config")["format"] ?? body["output_format"],
  });
}

/** A content block: its start, the fields of it that the deltas fill, and the deltas. */
interface Block {
  readonly start: JsonObject;
  readonly filled: JsonObject;
  readonly deltas: readonly JsonObject[];
}

function blocks({ thinking, text, calls, id }: Answer): Block[] {
  const list: Block[] = [];
  if (thinking !== "") {
    const signature = `sig_${id}`;
    list.push({
      start: { type: "thinking", thinking: "", signature: "" },
      filled: { thinking, signature },
      deltas: [
        ...pieces(thinking).map((piece) => ({ type: "thinking_delta", thinking: piece })),
        { type: "signature_delta", signature },
      ],
    });
  }
  if (text !== "") {
    const deltas = pieces(text).map((piece) => ({ type: "text_delta", text: piece }));
    list.push({ start: { type: "text", text: "" }, filled: { text }, deltas });
  }
  for (const [index, call] of calls.entries()) {
    const callId = `toolu_${id.slice(0, 22)}${String(index).padStart(2, "0")}`;
    list.push({
      start: { type: "tool_use", id: callId, name: call.name, input: {} },
      // An unstreamed reply has no other place for arguments that are no JSON.
      filled: { input: parseJson(call.arguments) ?? call.arguments },
      deltas: pieces(call.arguments, 3).map((piece) => ({
        type: "input_json_delta",
        partial_json: piece,
      })),
    });
  }
  return list;
}

function* events(answer: Answer): Generator<string> {
  const { usage } = answer;
  const opening = { content: [], stop_reason: null, stop_sequence: null };
  yield frame("message_start", {
    message: message(answer, opening, Math.min(1, usage?.output ?? 0)),
  });
  for (const [index, block] of blocks(answer).entries()) {
    yield frame("content_block_start", { index, content_block: block.start });
    for (const delta of block.deltas) yield frame("content_block_delta", { index, delta });
    yield frame("content_block_stop", { index });
  }
  yield frame("message_delta", {
    delta: ended(answer),
    usage: usageOf(answer, usage?.output),
  });
  yield frame("message_stop", {});
}

function message(answer: Answer, fields: JsonObject, output: number | undefined): JsonObject {
  return {
    id: `msg_${answer.id}`,
    type: "message",
    role: "assistant",
    model: answer.ask.model,
    ...fields,
    usage: usageOf(answer, output),
  };
}

const STOP_REASONS: Readonly<Record<Answer["ending"], string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tools: "tool_use",
  stop_sequence: "stop_sequence",
};

function ended({ ending, stopSequence }: Answer): JsonObject {
  return { stop_reason: STOP_REASONS[ending], stop_sequence: stopSequence };
}

/** `input_tokens` of this protocol leaves out what the cache had. */
function usageOf({ usage }: Answer, output = 0): JsonObject | undefined {
  if (!usage) return undefined;
  const { input, cacheRead, cacheWrite } = usage;
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    service_tier: "standard",
  };
}
