import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { LongBodies } from "../../../core/body/read-body.ts";
import { readJson } from "../../../core/body/request-body.ts";
import { BodyThreads } from "../../../core/body/threads.ts";
import { endpoints, PROTOCOLS } from "../../../core/catalogue/endpoint.ts";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import { offeredFeatures } from "../../../core/http/offered-features.ts";
import type { Services } from "../../../core/plugin/services.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { endsWithImage, imageFault } from "../../../core/wire/vision.ts";
import { wires } from "../../../core/wire/wires.ts";
import meter from "../../../plugins/meter/index.ts";
import { nativeRequest } from "../../../plugins/translate/native.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { damaged, randomJson } from "../../core/body/random-json.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { deskOf, modelOf } from "../../support/plugin-desk.ts";
import { Random } from "../../support/random.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";
import { longBody, PROFILES, REQUEST_CASES, RESPONSES } from "./long-bodies.ts";

type Client = "messages" | "chat" | "responses";

const MORE_PROFILES: readonly Profile[] = [
  ...PROFILES,
  { maker: "openai", replay: "none", sampling: "fixed", stop: false, penalties: false },
  { maker: "google", replay: "thought_signature", replay_fill: "x", fields: ["model", "messages"] },
  { forced_tools: "auto", formats: "json_object", schema: "moonshot", max_stops: 1 },
  { maker: "deepseek", replay: "reasoning_content", replay_fill: "", developer_role: "system" },
  { system_messages: "one", mid_system: "user", user_after_tool: false, prefill: false },
  { forced_tools: "refuse", reasoning_split: true, temperature_range: [0.1, 1] },
  { thinking: "budget", sampling: "one" },
];

const bodyThreads = new BodyThreads(recordedLog().log);
t.teardown(() => bodyThreads.stop());
const module = new URL("../../../plugins/meter/bound-thread.js", import.meta.url).href;
const bodyMeasures = { all: [{ name: "contents", module }], provide() {} };
const threads = {
  isReady: true,
  warmUp() {},
  run: bodyThreads.run.bind(bodyThreads) as BodyThreads["run"],
};
const longBodies = new LongBodies(threads, () => bodyMeasures.all, 0);
const counts = { unread: 0, stayedUnread: 0, edited: 0, refused: 0 };

async function callOf(client: Client, json: Buffer, inThread: boolean): Promise<HttpCall | string> {
  const call = newCall(endpoints.find((one) => one.protocol === client));
  const own = Buffer.concat([json]);
  const body = await (inThread
    ? longBodies.read(call, own)
    : readJson(own, PROTOCOLS[client].conversation));
  assert.ok(body);
  if (isRefusal(body)) return JSON.stringify(body);
  call.body = body;
  if (body.turns) counts.unread++;
  return call;
}

/** Everything that a passed call becomes, in the order of its steps. */
function passed(call: HttpCall, profile: Profile, seesImages: boolean): object {
  const client = call.endpoint.protocol;
  const route = { upstream: "u", model: "m", priority: 0, weight: 1 } as never;
  const labels = new Set(seesImages ? ["vision"] : []) as never;
  const standard = client === "messages" ? "messages" : "chat";
  const model = modelOf({ standard, routes: [route], labels });
  const upstream = { config: { profile }, speaks: () => true };
  const upstreams = { get: () => upstream, all: () => [upstream] };
  const services = { ...deskOf({ upstreams, bodyMeasures }).services, upstreams, bodyMeasures };
  const { outline } = call.body;
  const images = [imageFault(outline, client), endsWithImage(outline, client)];
  const checked = wires[client].check(outline);
  call.model = model;
  const refused = offeredFeatures(services as unknown as Services).request?.(call);
  if (refused) return { images, checked, refused };
  const fitted = nativeRequest(call, model, services as unknown as Services, StateSeal.of(""));
  if (isRefusal(fitted)) return { images, checked, fitted };
  const { request, dropped } = fitted;
  call.upstream = request;
  meter(services as unknown as Services, { hold: FACTORS, estimate: FACTORS }).request?.(call);
  if (call.body.turns) counts.stayedUnread++;
  if (request.body !== call.body) counts.edited++;
  const sent = (request.bodyFor?.(route) ?? request.body)?.copy();
  sent?.set("model", "m");
  const { inputTokensBound, inputTokensLikely, replyHeaders } = call;
  const bound = [inputTokensBound, inputTokensLikely];
  // The body as a plugin reads it.
  const body = JSON.stringify(call.body.json());
  return {
    ...{ images, checked, replyHeaders, dropped, bound, body },
    sent: JSON.parse(String(sent?.bytes())),
  };
}

const FACTORS = {
  ascii_bytes_per_token: 3,
  other_bytes_per_token: 1.5,
  image_tokens: 2500,
  document_bytes_per_token: 25,
  density_share: 1,
  overhead_share: 1,
};

async function compare(client: Client, json: Buffer, profile: Profile, sees = true): Promise<void> {
  const [here, there] = await Promise.all([
    callOf(client, json, false),
    callOf(client, json, true),
  ]);
  if (typeof here === "string" || typeof there === "string") {
    counts.refused++;
    return assert.equal(there, here);
  }
  assert.deepStrictEqual(passed(there, profile, sees), passed(here, profile, sees));
}

const seeds = fc.nat(29);
const profiles = fc.constantFrom(...MORE_PROFILES);
for (const [client, requests] of [
  ["chat", chatRequest],
  ["messages", messagesRequest],
  ["responses", fc.constantFrom(...RESPONSES)],
] as const) {
  t.test(`a ${client} body that a thread has read is passed on as one that is read here`, () =>
    fc.assert(
      fc.asyncProperty(requests, profiles, seeds, fc.boolean(), (body, profile, seed, sees) =>
        compare(client, longBody({ model: "m", ...body }, seed), profile, sees),
      ),
      { numRuns: 80 },
    ),
  );
}

t.test("the translation cases are passed on alike", async () => {
  for (const { client, input, profile } of REQUEST_CASES) {
    await compare(client, longBody(input, 1), profile);
  }
});

const TURN = { role: "user", content: "Hi" };
const USE = { type: "tool_use", id: "t", name: "f", input: {} };
const ODD: readonly JsonObject[] = [
  { messages: [] },
  { messages: "text" },
  { messages: [TURN, null] },
  { messages: [TURN, "text"] },
  { messages: [[TURN]] },
  { messages: [{ role: 1, content: "Hi" }] },
  { messages: [{ ...TURN, cache_control: { type: "ephemeral", ttl: "1h" } }] },
  { messages: [{ ...TURN, content: { type: "text", text: "x" } }] },
  {
    messages: [
      { ...TURN, content: [{ type: "image_url", image_url: { url: "data:text/plain,x" } }] },
    ],
  },
  {
    messages: [
      { ...TURN, content: [{ type: "text", text: "x", url: "data:application/pdf;base64,JVBE" }] },
    ],
  },
  { messages: [TURN, { role: "assistant", audio: { id: "a" } }] },
  { messages: [TURN, { role: "assistant", tool_calls: [{ id: "c", extra_content: {} }] }] },
  { messages: [TURN, { role: "assistant", content: [{ type: "thinking", thinking: "x" }] }, TURN] },
  { messages: [TURN, { role: "assistant", reasoning_content: "x", content: "y" }, TURN] },
  {
    messages: [
      TURN,
      { role: "assistant", content: [{ type: "text", text: "\n" }, USE] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "b" }] },
    ],
  },
  { messages: [{ role: "system", content: "a" }, { role: "system", content: "b" }, TURN] },
  { messages: [TURN, { role: "system", content: "b" }, TURN] },
  { messages: [{ role: "developer", content: "a" }, TURN] },
  { messages: [TURN, { role: "assistant", content: "b" }] },
  { messages: [TURN], tools: [{ type: "web_search_20250305" }], n: 3, metadata: { a: 1 } },
  { messages: [TURN], system: [{ type: "text", text: "s".repeat(300) }], tool_choice: "none" },
  { messages: [TURN], "1": "a number as a name", __proto__x: 1 },
  { messages: [{ ...TURN, "1": 1.5, name: 1e300 }] },
  { input: "text ".repeat(20_000) },
  { input: [{ type: "item_reference", id: "x" }] },
  { input: [{ id: "x" }] },
  { input: [{ type: "reasoning", encrypted_content: "gAAAAAx", summary: [] }, TURN] },
  { input: [{ type: "additional_tools", tools: [{ type: "web_search" }] }, TURN] },
  { input: [{ type: "function_call_output", call_id: "c", output: { file_id: "f" } }] },
];

t.test("odd conversations are passed on alike", async () => {
  for (const body of ODD) {
    const json = Buffer.from(JSON.stringify({ model: "m", max_tokens: 9, ...body }).padEnd(70_000));
    for (const client of ["chat", "messages", "responses"] as const) {
      for (const profile of MORE_PROFILES) await compare(client, json, profile, false);
    }
  }
});

t.test("random and damaged bodies are read or refused alike", async () => {
  const random = new Random(24);
  for (let at = 0; at < 400; at++) {
    const text = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":${randomJson(random)}}]}`;
    const bytes = at % 2 === 0 ? Buffer.from(text) : damaged(random, text);
    const json = Buffer.concat([bytes, Buffer.alloc(70_000, " ")]);
    await compare("chat", json, {});
  }
});

t.test("a body goes to a thread only if that spares more time than the way takes", async () => {
  const call = newCall(endpoints.find(({ protocol }) => protocol === "chat"));
  const started = { ready: 0, run: 0 };
  const made = (isReady: boolean) =>
    new LongBodies(
      {
        isReady,
        warmUp: () => void started.ready++,
        run: async () => {
          started.run++;
          throw new Error("read there");
        },
      },
      () => [],
    );
  const prose = Buffer.from(JSON.stringify({ messages: [{ content: "Đi dạo. ".repeat(6_000) }] }));
  const tools = Buffer.from(
    JSON.stringify({ messages: Array(4_000).fill({ role: "tool", id: "c" }) }),
  );
  assert.equal(made(true).read(call, prose), undefined);
  assert.equal(
    made(true).read(newCall(endpoints.find((one) => one.protocol === "images")), tools),
    undefined,
  );
  assert.equal(made(false).read(call, tools), undefined);
  assert.deepEqual(started, { ready: 1, run: 0 });
  await assert.rejects(async () => made(true).read(call, tools), /read there/);
});

t.test("the cases are of all kinds", async () => {
  for (const [name, count] of Object.entries(counts)) t.ok(count > 50, `${name}: ${count}`);
});
