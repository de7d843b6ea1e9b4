import assert from "node:assert/strict";
import { arrayOf, isObject, type JsonObject, objectOf } from "../../../core/process/json.ts";

/** Invariants of every Chat request that a translation produces. */
export function checkChatRequest(body: JsonObject): void {
  for (const [key, value] of Object.entries(body)) {
    assert.notEqual(value, null, `${key} is null`);
    if (Array.isArray(value)) assert.ok(value.length > 0, `${key} is an empty array`);
  }
  const caps = ["max_tokens", "max_completion_tokens"].filter((key) => key in body);
  assert.equal(caps.length, 1, "one cap field");
  if (!("tools" in body)) {
    assert.ok(!("tool_choice" in body), "tool_choice without tools");
    assert.ok(!("parallel_tool_calls" in body), "parallel_tool_calls without tools");
  }
  if (body["stream"] !== true) assert.ok(!("stream_options" in body), "stream_options unasked");
  const open = new Set<unknown>();
  for (const message of arrayOf(body["messages"]).filter(isObject)) {
    const calls = arrayOf(message["tool_calls"]).filter(isObject);
    for (const [key, value] of Object.entries(message)) {
      const allowed = key === "content" && calls.length > 0;
      assert.ok(value !== null || allowed, `null in a message: ${key}`);
    }
    if (message["role"] === "tool") {
      assert.ok(open.delete(message["tool_call_id"]), "a tool message answers an open call");
      assert.equal(typeof message["content"], "string");
      continue;
    }
    assert.equal(open.size, 0, "calls are answered directly");
    for (const call of calls) open.add(call["id"]);
  }
  assert.equal(open.size, 0, "calls are answered");
}

/** Invariants of every Messages request that a translation produces. */
export function checkMessagesRequest(body: JsonObject): void {
  checkNoNull(body, "body");
  assert.equal(typeof body["max_tokens"], "number");
  if (!("tools" in body)) assert.ok(!("tool_choice" in body), "tool_choice without tools");
  const thinking = objectOf(body["thinking"]);
  if (thinking?.["type"] === "enabled") {
    const budget = Number(thinking["budget_tokens"]);
    assert.ok(budget >= 1024 && budget < Number(body["max_tokens"]), `budget ${budget}`);
  }
  const turns = arrayOf(body["messages"]).filter(isObject);
  const roles = turns.map((turn) => turn["role"]).filter((role) => role !== "system");
  for (const [at, role] of roles.entries()) {
    assert.equal(role, at % 2 === 0 ? "user" : "assistant", `role of turn ${at}`);
  }
  let open: unknown[] = [];
  for (const turn of turns) {
    const blocks = arrayOf(turn["content"]).filter(isObject);
    assert.ok(blocks.length > 0, "a turn has blocks");
    for (const block of blocks) {
      if (block["type"] === "text") assert.notEqual(String(block["text"]).trim(), "", "blank text");
      for (const key of ["id", "tool_use_id"]) {
        if (key in block) assert.match(String(block[key]), /^[a-zA-Z0-9_-]+$/);
      }
    }
    if (turn["role"] === "system") continue;
    const results = blocks.filter((block) => block["type"] === "tool_result");
    const answered = results.map((block) => block["tool_use_id"]);
    assert.deepEqual(blocks.slice(0, results.length), results, "results come first");
    assert.deepEqual(new Set(answered), new Set(open), "results answer the turn before");
    assert.equal(answered.length, open.length);
    open = blocks.filter((block) => block["type"] === "tool_use").map((block) => block["id"]);
  }
  assert.deepEqual(open, [], "calls are answered");
}

/** Values passed on as the client or the model wrote them may be null. */
const VERBATIM = new Set(["input", "input_schema", "schema"]);

function checkNoNull(value: unknown, path: string): void {
  assert.notEqual(value, null, `${path} is null`);
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (!VERBATIM.has(key)) checkNoNull(child, `${path}.${key}`);
  }
}

export interface ClientEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** Invariants of every stream that a Messages client gets. */
export function checkMessagesStream(events: readonly ClientEvent[]): void {
  let open = -1;
  let openType: unknown;
  let blocks = 0;
  for (const [at, { event, data }] of events.entries()) {
    assert.ok(isObject(data), "no [DONE] on this side");
    const type = data["type"];
    assert.equal(event, type, "the event line names the type");
    const last = at === events.length - 1;
    switch (type) {
      case "message_start": {
        assert.equal(at, 0, "message_start comes first and once");
        const message = objectOf(data["message"]) ?? {};
        assert.deepEqual(message["content"], []);
        assert.equal(message["stop_reason"], null);
        assert.equal(message["stop_sequence"], null);
        const usage = objectOf(message["usage"]) ?? {};
        for (const key of ["input_tokens", "output_tokens"]) assert.ok(Number(usage[key]) >= 0);
        for (const key of ["cache_creation_input_tokens", "cache_read_input_tokens"]) {
          assert.ok(Number(usage[key]) >= 0);
        }
        break;
      }
      case "content_block_start":
        assert.equal(open, -1, "one block at a time");
        assert.equal(data["index"], blocks, "indexes have no gaps");
        open = blocks;
        blocks += 1;
        openType = objectOf(data["content_block"])?.["type"];
        break;
      case "content_block_delta":
        assert.equal(data["index"], open, "a delta belongs to the open block");
        assert.equal(fits(objectOf(data["delta"])?.["type"]), openType, "a delta fits its block");
        break;
      case "content_block_stop":
        assert.equal(data["index"], open);
        open = -1;
        break;
      case "message_delta":
        assert.equal(open, -1, "blocks are closed before the end");
        assert.equal(at, events.length - 2, "message_delta comes once, before the end");
        break;
      case "message_stop":
      case "error":
        assert.ok(last, `${type} is the last event`);
        break;
      default:
        assert.fail(`unknown event ${String(type)}`);
    }
    if (last) assert.ok(type === "message_stop" || type === "error", "the stream ends properly");
    if (at === 0) assert.equal(type, "message_start");
  }
}

function fits(delta: unknown): string {
  if (delta === "text_delta") return "text";
  return delta === "input_json_delta" ? "tool_use" : "thinking";
}

/** Invariants of every stream that a Chat client gets. */
export function checkChatStream(events: readonly ClientEvent[], includeUsage: boolean): void {
  let finishes = 0;
  let identity: unknown;
  for (const [at, { event, data }] of events.entries()) {
    assert.equal(event, undefined, "no event lines");
    const last = at === events.length - 1;
    if (data === "[DONE]") {
      assert.ok(last, "nothing comes after [DONE]");
      continue;
    }
    assert.ok(isObject(data));
    if ("error" in data) {
      assert.ok(last, "nothing comes after an error");
      continue;
    }
    const { id, object, created, model } = data;
    assert.equal(object, "chat.completion.chunk");
    identity ??= { id, created, model };
    assert.deepEqual({ id, created, model }, identity, "one identity");
    assert.equal("usage" in data, includeUsage, "the usage key is in all chunks or in none");
    const choices = arrayOf(data["choices"]).filter(isObject);
    if (choices.length === 0) {
      assert.equal(events[at + 1]?.data, "[DONE]", "the usage chunk is the last");
      assert.ok(isObject(data["usage"]));
      continue;
    }
    assert.equal(choices.length, 1);
    assert.equal(choices[0]?.["index"], 0);
    if (includeUsage) assert.equal(data["usage"], null);
    if (choices[0]?.["finish_reason"] !== null) finishes += 1;
  }
  assert.ok(finishes <= 1, "at most one finish chunk");
  const done = events.at(-1)?.data === "[DONE]";
  assert.equal(finishes, done ? 1 : 0, "a finish chunk if and only if the stream is whole");
}
