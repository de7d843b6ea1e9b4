import assert from "node:assert/strict";
import t from "tap";
import { readJson } from "../../../core/body/request-body.ts";
import { BodyThreads } from "../../../core/body/threads.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import translate from "../../../plugins/translate/index.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { deskOf, keyOf, modelOf } from "../../support/plugin-desk.ts";

const route = { upstream: "u", model: "m", priority: 0, weight: 1 };

function callOf(fields: JsonObject): HttpCall {
  const body = readJson(Buffer.from(JSON.stringify({ model: "m", ...fields })));
  assert.ok(!isRefusal(body));
  const call = newCall(endpoints.find(({ path }) => path === "/v1/chat/completions"));
  const model = modelOf({ standard: "messages", routes: [route as never] });
  return Object.assign(call, { body, key: keyOf(), model });
}

/** As many turns, and as many objects in arguments, as one request may have. */
function largestTree(): JsonObject {
  const given = `{"a":[${"{},".repeat(33_000)}0]}`;
  const ids = ["c0", "c1", "c2"];
  const calls = ids.map((id) => ({
    ...{ id, type: "function" },
    function: { name: "f", arguments: given },
  }));
  const results = ids.map((id) => ({ role: "tool", tool_call_id: id, content: "x" }));
  const turns = Array.from({ length: 9_000 }, (_, at) => [
    { role: "user", content: `${at}` },
    { role: "assistant", content: `${at}!` },
  ]);
  const last = { role: "assistant", content: null, tool_calls: calls };
  return { messages: [...turns.flat(), last, ...results] };
}

t.test("a body that breaks a thread gets 413, and its neighbours are translated", async (t) => {
  const bodyThreads = new BodyThreads(recordedLog().log, { threads: 1, heapMb: 17 });
  t.teardown(() => bodyThreads.stop());
  const { services } = deskOf({
    ...{ bodyThreads, bodyMeasures: { all: [] } },
    upstreams: { get: () => ({ config: { profile: {} }, speaks: () => true }) },
  });
  const { request } = translate(services);
  const said = { messages: [{ role: "user", content: "Hello. ".repeat(20_000) }] };
  const calls = [callOf(said), callOf(largestTree()), callOf(said)];
  const verdicts = await Promise.all(calls.map((call) => request?.(call)));
  t.match(verdicts, [undefined, { status: 413, type: "request_too_large" }, undefined]);
  t.strictSame(
    calls.map(({ upstream }) => upstream?.body?.standIns),
    [["messages"], undefined, ["messages"]],
  );
});
