import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { readJsonBody } from "../../../core/http/json-body.ts";
import type { Services } from "../../../core/plugin/services.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { SHORT_BYTES_MAX } from "../../../core/process/outline.ts";
import { TEXT_FIELDS } from "../../../core/process/text-fields.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { contentsOf } from "../../../plugins/meter/bound.ts";
import { nativeRequest } from "../../../plugins/translate/native.ts";
import { newCall } from "../../support/call.ts";
import { modelOf } from "../../support/plugin-desk.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";

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

/** Makes each second text so long that it is not decoded. */
function withLongTexts(body: JsonObject): JsonObject {
  let count = 0;
  const filler = ' and "so" on,\n ạ 🌏'.repeat(20);
  return JSON.parse(JSON.stringify(body), (name, value) =>
    typeof value === "string" && TEXT_FIELDS.has(name) && value !== "" && count++ % 2 === 0
      ? value + filler
      : value,
  );
}

type Made = { refused: object } | { body: JsonObject; dropped: readonly string[] };

/** The edited body, made with its texts or without them. */
function made(
  protocol: "chat" | "messages",
  json: Buffer,
  profile: Profile,
  isWhole: boolean,
): Made {
  const call = newCall(endpoints.find((one) => one.protocol === protocol));
  const outline = readJsonBody(json);
  assert.ok(!isRefusal(outline));
  call.outline = outline;
  if (isWhole) call.body = outline.handOut();
  const route = { upstream: "u", model: "m", priority: 0, weight: 1 };
  const model = modelOf({ standard: protocol, routes: [route as never] });
  const upstream = { config: { profile }, speaks: () => true };
  const services = { upstreams: { get: () => upstream } } as unknown as Services;
  const fitted = nativeRequest(call, model, services);
  if (isRefusal(fitted)) return { refused: fitted };
  const { request, dropped } = fitted;
  const { passed } = request;
  assert.equal(passed === undefined, isWhole);
  if (!passed) return { body: request.body ?? {}, dropped };
  const tree = passed.treeFor?.(route as never) ?? passed.tree;
  // The contents that a bound is computed from, before the texts are back.
  const { texts: _, ...contents } = contentsOf(tree, passed.outline.leftOut);
  const body: JsonObject = JSON.parse(passed.outline.written(tree).toString());
  const { texts: __, ...whole } = contentsOf(body);
  assert.deepStrictEqual(contents, whole);
  return { body, dropped };
}

for (const [protocol, requests, profiles] of [
  ["chat", chatRequest, CHAT_PROFILES],
  ["messages", messagesRequest, MESSAGES_PROFILES],
] as const) {
  t.test(`a ${protocol} body is edited without its texts as it is with them`, async () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...profiles), (body, profile) => {
        // The texts of a short body are not left out.
        const json = Buffer.from(JSON.stringify(withLongTexts(body)).padEnd(SHORT_BYTES_MAX + 1));
        const [passed, parsed] = [false, true].map((whole) => made(protocol, json, profile, whole));
        assert.deepStrictEqual(passed, parsed);
      }),
      { numRuns: 300 },
    );
  });
}
