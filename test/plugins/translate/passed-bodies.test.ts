import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import read from "../../../core/body/read-thread.ts";
import { RequestBody, readJson } from "../../../core/body/request-body.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { Services } from "../../../core/plugin/services.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { nativeRequest } from "../../../plugins/translate/native.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { newCall } from "../../support/call.ts";
import { modelOf } from "../../support/plugin-desk.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";
import { TEXT_FIELDS } from "./long-bodies.ts";

/** Together they cause every edit. */
const CHAT_PROFILES: readonly Profile[] = [
  {},
  { maker: "openai", replay: "none", sampling: "fixed", stop: false, penalties: false },
  { maker: "google", replay: "thought_signature", replay_fill: "x", fields: ["model", "messages"] },
  { maker: "deepseek", replay: "reasoning_content", replay_fill: "", developer_role: "system" },
  { system_messages: "one", mid_system: "user", user_after_tool: false, prefill: false },
  { forced_tools: "auto", formats: "json_object", schema: "moonshot", max_stops: 1 },
  { forced_tools: "refuse", reasoning_split: true, temperature_range: [0.1, 1] },
];
const MESSAGES_PROFILES: readonly Profile[] = [
  {},
  { mid_system: "hoist", forced_tools: "refuse", sampling: "none" },
  { prefill: false, sampling: "one", thinking: "adaptive" },
];

/** Makes each second text long. */
function withLongTexts(body: JsonObject): JsonObject {
  let count = 0;
  const filler = ' and "so" on,\n ạ 🌏'.repeat(50);
  return JSON.parse(JSON.stringify(body), (name, value) =>
    typeof value === "string" && TEXT_FIELDS.has(name) && value !== "" && count++ % 2 === 0
      ? value + filler
      : value,
  );
}

const counts = { unread: 0, stayed: 0 };

type Made = { refused: object } | { body: JsonObject; dropped: readonly string[] };

/** The edited body, made while its conversation is bytes alone, as a thread hands it over, or after it was read. */
async function made(
  protocol: "chat" | "messages",
  json: Buffer,
  profile: Profile,
  isWhole: boolean,
): Promise<Made> {
  const call = newCall(endpoints.find((one) => one.protocol === protocol));
  const { parts } = (await read({ protocol, measures: [] }, Buffer.from(json))).result;
  const whole = readJson(json, "messages");
  assert.ok(!isRefusal(whole));
  const came = parts && !isWhole ? RequestBody.from(parts) : whole;
  call.body = came;
  if (came.standIns.length > 0) counts.unread++;
  const route = { upstream: "u", model: "m", priority: 0, weight: 1 };
  const model = modelOf({ standard: protocol, routes: [route as never] });
  const upstream = { config: { profile }, speaks: () => true };
  const services = { upstreams: { get: () => upstream } } as unknown as Services;
  const fitted = nativeRequest(call, model, services, StateSeal.of(""));
  if (isRefusal(fitted)) return { refused: fitted };
  const { request, dropped } = fitted;
  const body = request.bodyFor?.(route as never) ?? request.body;
  if (came.standIns.length > 0) counts.stayed++;
  const sent: JsonObject = JSON.parse(String(body?.bytes()));
  assert.deepStrictEqual(JSON.parse(String(request.body?.bytes())), sent);
  return { body: sent, dropped };
}

for (const [protocol, requests, profiles] of [
  ["chat", chatRequest, CHAT_PROFILES],
  ["messages", messagesRequest, MESSAGES_PROFILES],
] as const) {
  t.test(
    `a ${protocol} body is edited while its texts are not read as it is with them`,
    async () => {
      await fc.assert(
        fc.asyncProperty(requests, fc.constantFrom(...profiles), async (body, profile) => {
          const json = Buffer.from(JSON.stringify(withLongTexts(body)));
          const passed = await made(protocol, json, profile, false);
          assert.deepStrictEqual(passed, await made(protocol, json, profile, true));
        }),
        { numRuns: 300 },
      );
    },
  );
}

t.test("a text of white space goes out of a conversation that is not read", async () => {
  const said = [
    { type: "text", text: "\n" },
    { type: "tool_use", id: "t", name: "f", input: {} },
  ];
  const results = [{ type: "tool_result", tool_use_id: "t", content: "b".repeat(9_000) }];
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: said },
    { role: "user", content: results },
  ];
  const json = Buffer.from(JSON.stringify({ max_tokens: 9, messages }));
  const before = counts.unread;
  const passed = await made("messages", json, {}, false);
  assert.equal(counts.unread, before + 1);
  assert.deepStrictEqual(passed, await made("messages", json, {}, true));
});

t.test("conversations were not read, and some stayed so", async (t) => {
  // Of random requests: some 31 and 14.
  t.comment(JSON.stringify(counts));
  t.ok(counts.unread > 4 && counts.stayed > 0, JSON.stringify(counts));
});
