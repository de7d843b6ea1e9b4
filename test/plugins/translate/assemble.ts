import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/process/json.ts";
import type { ClientEvent } from "./invariants.ts";

/** The output that a client received: the events, or an error instead of a stream. */
export interface ClientSide {
  readonly events: readonly ClientEvent[];
  readonly httpError: { readonly status: number; readonly body: unknown } | null;
}

const DELTA_TEXT: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
};

/** Joins neighbouring deltas of one block and type, since text may be split anywhere. */
export function joinDeltas(events: readonly ClientEvent[]): ClientEvent[] {
  const joined: ClientEvent[] = [];
  for (const event of events) {
    const previous = joined.at(-1);
    const merged = previous && mergeDeltas(previous, event);
    if (merged) joined[joined.length - 1] = merged;
    else joined.push(event);
  }
  return joined;
}

function mergeDeltas(first: ClientEvent, second: ClientEvent): ClientEvent | undefined {
  if (first.event !== "content_block_delta" || second.event !== first.event) return undefined;
  if (!isObject(first.data) || !isObject(second.data)) return undefined;
  const [one, two] = [objectOf(first.data["delta"]), objectOf(second.data["delta"])];
  if (first.data["index"] !== second.data["index"] || one?.["type"] !== two?.["type"]) {
    return undefined;
  }
  const key = DELTA_TEXT[String(one?.["type"])] ?? "";
  const text = String(one?.[key]) + String(two?.[key]);
  return { event: first.event, data: { ...first.data, delta: { ...one, [key]: text } } };
}

/** Assembles a Messages stream as a client would, in the terms of the test cases. */
export function assembleMessages({ events, httpError }: ClientSide): JsonObject {
  const blocks: JsonObject[] = [];
  const found: JsonObject = {
    blocks,
    events: joinDeltas(events),
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: null,
    error: null,
    http_error: httpError,
  };
  for (const { data } of events) {
    if (!isObject(data)) continue;
    const delta = objectOf(data["delta"]) ?? {};
    const block = blocks.at(-1);
    switch (data["type"]) {
      case "message_start":
        found["model"] = objectOf(data["message"])?.["model"];
        break;
      case "content_block_start":
        blocks.push(started(objectOf(data["content_block"]) ?? {}));
        break;
      case "content_block_delta": {
        const key = DELTA_TEXT[String(delta["type"])] ?? "";
        const target = key === "partial_json" ? "input_json" : key;
        if (block) block[target] = String(block[target] ?? "") + String(delta[key]);
        break;
      }
      case "message_delta":
        found["stop_reason"] = delta["stop_reason"];
        found["stop_sequence"] = delta["stop_sequence"];
        found["stop_details"] = delta["stop_details"] ?? null;
        found["usage"] = data["usage"];
        break;
      case "error":
        found["error"] = data;
        break;
    }
  }
  return found;
}

function started(block: JsonObject): JsonObject {
  if (block["type"] !== "tool_use") return { ...block };
  return { type: "tool_use", id: block["id"], name: block["name"], input_json: "" };
}

/** Assembles a Chat stream as a client would, in the terms of the test cases. */
export function assembleChat({ events, httpError }: ClientSide): JsonObject {
  const calls: JsonObject[] = [];
  const thinkingBlocks: unknown[] = [];
  let text = "";
  let reasoning = "";
  let refusal = "";
  let roles = 0;
  let finish: unknown = null;
  let usage: unknown = null;
  let usageKeys = "none";
  let firstDelta: unknown;
  let error: unknown = null;
  const chunks = events.map(({ data }) => data).filter(isObject);
  for (const chunk of chunks) {
    if ("error" in chunk) error = chunk;
    if ("usage" in chunk) usageKeys = "some";
    if (isObject(chunk["usage"])) usage = chunk["usage"];
    const choice = objectOf(arrayOf(chunk["choices"])[0]);
    if (!choice) continue;
    const delta = objectOf(choice["delta"]) ?? {};
    firstDelta ??= delta;
    text += String(delta["content"] ?? "");
    reasoning += String(delta["reasoning_content"] ?? "");
    refusal += String(delta["refusal"] ?? "");
    if ("role" in delta) roles += 1;
    for (const block of arrayOf(delta["thinking_blocks"])) thinkingBlocks.push(block);
    for (const call of arrayOf(delta["tool_calls"])) addCall(calls, objectOf(call) ?? {});
    finish ??= choice["finish_reason"];
  }
  return {
    events,
    text,
    reasoning,
    refusal,
    tool_calls: calls,
    thinking_blocks: thinkingBlocks,
    finish_reason: finish,
    usage,
    usage_keys: usageKeys,
    done: events.at(-1)?.data === "[DONE]",
    error,
    http_error: httpError,
    roles,
    first_delta: firstDelta,
    data_chunks: chunks.filter((chunk) => !("error" in chunk)).length,
    model: chunks[0]?.["model"],
  };
}

function addCall(calls: JsonObject[], delta: JsonObject): void {
  const index = Number(delta["index"]);
  calls[index] ??= { arguments: "" };
  const call = calls[index];
  const part = objectOf(delta["function"]) ?? objectOf(delta["custom"]) ?? {};
  if (delta["id"] !== undefined) call["id"] = delta["id"];
  if (delta["type"] !== undefined) call["type"] = delta["type"];
  if (part["name"] !== undefined) call["name"] = part["name"];
  call["arguments"] = String(call["arguments"]) + String(part["arguments"] ?? part["input"] ?? "");
}
