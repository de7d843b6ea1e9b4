import assert from "node:assert/strict";
import t from "tap";
import { endpoints } from "../../../core/contract/endpoint.ts";
import { isRefusal } from "../../../core/contract/refusal.ts";
import { OwnBodyThreads } from "../../../core/http/body-threads.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import { readJsonBody } from "../../../core/http/json-body.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import translate from "../../../plugins/translate/index.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { deskOf, keyOf, modelOf } from "../../support/plugin-desk.ts";

const route = { upstream: "u", model: "m", priority: 0, weight: 1 };

function callOf(body: JsonObject): HttpCall {
  const outline = readJsonBody(Buffer.from(JSON.stringify({ model: "m", ...body })));
  assert.ok(!isRefusal(outline));
  const call = newCall(endpoints.find(({ path }) => path === "/v1/chat/completions"));
  const model = modelOf({ standard: "messages", routes: [route as never] });
  return Object.assign(call, { outline, key: keyOf(), model });
}

/** Arguments of 30,000 objects each. A request may have 100,000 values in all its arguments. */
function callsOfManyObjects(count: number): JsonObject {
  const given = `{"a":[${"{},".repeat(30_000)}0]}`;
  const ids = Array.from({ length: count }, (_, at) => `c${at}`);
  const calls = ids.map((id) => ({
    ...{ id, type: "function" },
    function: { name: "f", arguments: given },
  }));
  const results = ids.map((id) => ({ role: "tool", tool_call_id: id, content: "x" }));
  return { messages: [{ role: "assistant", content: null, tool_calls: calls }, ...results] };
}

t.test("a body that breaks a thread gets 413, and its neighbours are translated", async (t) => {
  const bodyThreads = new OwnBodyThreads(recordedLog().log, { threads: 1, heapMb: 11 });
  t.teardown(() => bodyThreads.stop());
  const { services } = deskOf({
    ...{ bodyThreads, bodyMeasures: { all: [] }, imageFetcher: () => ({}) },
    upstreams: { get: () => ({ config: { profile: {} }, speaks: () => true }) },
  });
  const { request } = translate(services, { fetch_private_images: false });
  const said = { messages: [{ role: "user", content: "Hello. ".repeat(20_000) }] };
  const calls = [callOf(said), callOf(callsOfManyObjects(3)), callOf(said)];
  const verdicts = await Promise.all(calls.map((call) => request?.(call)));
  t.match(verdicts, [undefined, { status: 413, type: "request_too_large" }, undefined]);
  t.strictSame(
    calls.map(({ upstream }) => upstream?.written?.json.head["messages"]),
    [[], undefined, []],
  );
});
