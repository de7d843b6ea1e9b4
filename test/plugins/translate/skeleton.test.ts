import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { endpoints } from "../../../core/contract/endpoint.ts";
import type { Profile } from "../../../core/contract/profile.ts";
import { isRefusal } from "../../../core/contract/refusal.ts";
import type { Services } from "../../../core/contract/services.ts";
import { readJsonBody } from "../../../core/http/body.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { TEXT_FIELDS } from "../../../core/wire/text-fields.ts";
import { contentsOf } from "../../../plugins/meter/bound.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { TranslatedRequest } from "../../../plugins/translate/translated-request.ts";
import { Translation } from "../../../plugins/translate/translation.ts";
import { newCall } from "../../support/call.ts";
import { modelOf } from "../../support/plugin-desk.ts";
import { chatRequest, messagesRequest } from "./conversations.ts";

type Client = "messages" | "chat" | "responses";

const LONG = 'and "so" on,\n ạ 🌏 \\u0041 \ud800 '.repeat(20);
/** A translation looks at a text only at its ends. */
const TEXTS: readonly ((value: string) => string)[] = [
  (value) => `A ${value}${LONG}end.`,
  (value) => `Đúng ${LONG}${value}!`,
  (value) => `${value}${LONG} `,
  () => `Error: ${LONG}x`,
  () => `data:text/plain,${LONG}x`,
  () => " \n".repeat(300),
  () => "\u00a0".repeat(300),
  () => "\u3000\u1680\ufeff".repeat(200),
  (value) => `\n${LONG}${value}`,
  (value) => `HTTPS://${LONG}${value}`,
  (value) => `ạ ${LONG}${value}`,
  (value) => `{"${value}":1}${" ".repeat(300)}`,
  () => `Z${LONG}x-anthropic-billing-header: 1\nlast`,
  () => `Z${LONG}ends with a line\n`,
  () => `Z${LONG}\u00a0`,
];

function withLongTexts(body: JsonObject, seed: number): JsonObject {
  let count = seed;
  return JSON.parse(JSON.stringify(body), (name, value) => {
    if (typeof value !== "string" || !TEXT_FIELDS.has(name)) return value;
    return count++ % 3 === 0 ? value : TEXTS[(count * 7) % TEXTS.length]?.(value);
  });
}

const counts = { leftOut: 0, whole: 0, refused: 0 };

interface Made {
  readonly refused?: object;
  readonly body?: JsonObject;
  readonly contents?: object;
  readonly dropped?: readonly string[];
  readonly reply?: unknown;
}

/** The translated body, with its bound and the translation of a reply, made with its texts or without them. */
function made(client: Client, to: Client, json: Buffer, profile: Profile, isWhole: boolean): Made {
  const call = newCall(endpoints.find((one) => one.protocol === client));
  const outline = readJsonBody(json);
  assert.ok(!isRefusal(outline));
  call.outline = outline;
  if (isWhole) call.body = outline.handOut();
  const route = { upstream: "u", model: "m", priority: 0, weight: 1 } as never;
  const model = modelOf({ standard: to === "messages" ? "messages" : "chat", routes: [route] });
  const upstream = { config: { profile }, speaks: () => true };
  const clock = { now: () => 1 };
  const services = { upstreams: { get: () => upstream }, clock } as unknown as Services;
  const translation = new Translation(call, model, services, new StateSeal("x"), to);
  const first = translation.first();
  if (!first?.ok) {
    counts.refused++;
    return { refused: first?.reject ?? {} };
  }
  const request = new TranslatedRequest(translation, first.body, []);
  const { skeleton } = request;
  assert.ok(!isWhole || skeleton === undefined);
  counts[skeleton ? "leftOut" : "whole"]++;
  const tree = skeleton ? skeleton.treeFor(route) : request.bodyFor(route);
  const text = JSON.stringify(tree);
  const body: JsonObject = JSON.parse(String(skeleton?.texts.written(text) ?? text));
  const { texts: _, ...contents } = contentsOf(skeleton?.tree ?? request.body, skeleton?.texts);
  const { dropped } = translation;
  const reply = translation.reply({ choices: [], content: [], output: [], model: "m" });
  // A plugin that reads the body gets the texts.
  assert.deepStrictEqual(JSON.parse(JSON.stringify(request.body)), body);
  assert.equal(request.skeleton, undefined);
  assert.deepStrictEqual(JSON.parse(JSON.stringify(request.bodyFor(route))), body);
  return { body, contents, dropped, reply: withoutIds(reply) };
}

function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, entry) => (name === "id" ? "" : entry));
}

function check(client: Client, to: Client, body: JsonObject, profile: Profile, seed: number): void {
  const text = JSON.stringify(withLongTexts(body, seed)).padEnd(70_000);
  const json = Buffer.from(text.replaceAll("\\\\u0041", "\\u0041"));
  const [left, whole] = [false, true].map((all) => made(client, to, json, profile, all));
  assert.deepStrictEqual(left, whole);
}

const PROFILES: readonly Profile[] = [
  {},
  { mid_system: "user", user_after_tool: false, prefill: false, system_messages: "one" },
  { maker: "deepseek", replay: "reasoning_content", replay_fill: "", developer_role: "system" },
  { mid_system: "hoist", forced_tools: "refuse", sampling: "none", prefill: false },
];

for (const [client, to, requests] of [
  ["chat", "messages", chatRequest],
  ["chat", "responses", chatRequest],
  ["messages", "chat", messagesRequest],
  ["messages", "responses", messagesRequest],
] as const) {
  t.test(`${client} to ${to} is translated without its texts as it is with them`, async () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...PROFILES), fc.nat(29), (body, profile, seed) => {
        check(client, to, body, profile, seed);
      }),
      { numRuns: 60 },
    );
  });
}

interface Case {
  readonly direction: "messages->chat" | "chat->messages";
  readonly kind: string;
  readonly ctx?: { readonly profile?: Profile };
  readonly input: JsonObject;
}

const file = new URL("../../../../test/plugins/translate/cases.json", import.meta.url);
const cases: readonly Case[] = JSON.parse(readFileSync(file, "utf8"));

t.test("the translation cases come out the same without their texts", async () => {
  for (const { direction, kind, ctx, input } of cases) {
    if (kind !== "request" || typeof input !== "object" || input === null) continue;
    const isChat = direction === "chat->messages";
    for (let seed = 0; seed < 2; seed++) {
      const [client, to] = isChat
        ? (["chat", "messages"] as const)
        : (["messages", "chat"] as const);
      check(client, to, input, ctx?.profile ?? {}, seed);
    }
  }
});

const RESPONSES: readonly JsonObject[] = [
  { input: [{ role: "user", content: "Hello" }] },
  {
    instructions: "Be brief.",
    tools: [{ type: "function", name: "read", parameters: { type: "object" } }],
    input: [
      { role: "developer", content: [{ type: "input_text", text: "Careful." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Read it" }] },
      { type: "function_call", call_id: "c", name: "read", arguments: '{"text":"a"}' },
      { type: "function_call_output", call_id: "c", output: "the file" },
      { role: "assistant", content: [{ type: "output_text", text: "Done" }] },
      { role: "user", content: [{ type: "input_text", text: "Go on" }] },
    ],
  },
];

t.test("Responses is translated without its texts as it is with them", async () => {
  for (const body of RESPONSES) {
    for (const to of ["messages", "chat"] as const) {
      for (let seed = 0; seed < 10; seed++) {
        for (const profile of PROFILES)
          check("responses", to, { model: "m", ...body }, profile, seed);
      }
    }
  }
});

t.test("texts were left out, and there were bodies without", async (t) => {
  t.comment(JSON.stringify(counts));
  t.ok(counts.leftOut > 100 && counts.whole > 100);
});
