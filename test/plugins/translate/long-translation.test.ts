import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { type RequestBody, readJson } from "../../../core/body/request-body.ts";
import { BodyThreads } from "../../../core/body/threads.ts";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import type { Profile } from "../../../core/catalogue/profile.ts";
import type { HttpCall } from "../../../core/http/http-call.ts";
import type { Services } from "../../../core/plugin/services.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { contentsOf } from "../../../plugins/meter/bound.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import type { Translation } from "../../../plugins/translate/translation.ts";
import { translatedHere, translationOf } from "../../../plugins/translate/translation.ts";
import { newCall } from "../../support/call.ts";
import { recordedLog } from "../../support/log.ts";
import { modelOf } from "../../support/plugin-desk.ts";
import { CROSSINGS, longBody, PROFILES, REQUEST_CASES, RESPONSES } from "./long-bodies.ts";

type Client = "messages" | "chat" | "responses";

const bodyThreads = new BodyThreads(recordedLog().log);
t.teardown(() => bodyThreads.stop());
const module = new URL("../../../plugins/meter/bound-thread.js", import.meta.url).href;
const bodyMeasures = { all: [{ name: "contents", module }] };
const seal = StateSeal.of("x");
const counts = { made: 0, refused: 0 };

/** Two routes that take the same form, and one that takes another. */
const ROUTES = ["a", "b", "c"].map(
  (upstream, priority) => ({ upstream, model: upstream, priority, weight: 1 }) as never,
);

function callOf(client: Client, json: Buffer): HttpCall {
  const call = newCall(endpoints.find((one) => one.protocol === client));
  const body = readJson(json, client === "responses" ? "input" : "messages");
  assert.ok(!isRefusal(body));
  call.body = body;
  return call;
}

/**
 * Compares, for each route, the JSON that is sent, the names that were dropped, and the translation of a reply. Returns
 * why both refuse the request; undefined if they make one.
 */
async function check(
  client: Client,
  to: Client,
  json: Buffer,
  profile: Profile,
): Promise<string | undefined> {
  const model = modelOf({ standard: to === "messages" ? "messages" : "chat", routes: ROUTES });
  const upstreams = {
    get: (name: string) => ({
      config: { profile: { maker: "openai", ...(name === "c" ? { tool_name_max: 9 } : profile) } },
      speaks: () => true,
    }),
  };
  const clock = { now: () => 1 };
  const services = { upstreams, clock, bodyThreads, bodyMeasures } as unknown as Services;
  const long = await translationOf(callOf(client, json), model, services, seal, to);
  assert.ok(!isRefusal(long), JSON.stringify(long));
  const whole = translatedHere(callOf(client, json), model, services, seal, to);
  const [first, expected] = [long.first(), whole.first()];
  if (!first?.ok || !expected?.ok) {
    assert.deepStrictEqual(first, expected);
    counts.refused++;
    return first?.ok === false ? first.reject.message : undefined;
  }
  counts.made++;
  const { inflation: _, ...contents } = contentsOf(expected.body.json());
  assert.deepStrictEqual(plain(first.body.measured?.values["contents"]), plain(contents));
  const sent = (body: RequestBody | undefined) => {
    const edited = body?.copy();
    edited?.set("model", "other");
    edited?.set("max_tokens", undefined);
    return edited && JSON.parse(String(edited.bytes()));
  };
  for (const route of ROUTES) {
    const body = long.bodyFor(route);
    assert.deepStrictEqual(sent(body), sent(whole.bodyFor(route)));
    if (!body) continue;
    assert.deepStrictEqual(long.dropped, whole.dropped);
    assert.deepStrictEqual(replyOf(long), replyOf(whole));
    // A plugin that reads the body gets all of it.
    assert.deepStrictEqual(plain(body.json()), plain(whole.bodyFor(route)?.json()));
  }
  return undefined;
}

function replyOf(translation: Translation): object {
  const calls = [{ id: "c", function: { name: "long_name", arguments: "{}" } }];
  const choices = [{ message: { content: "Hi", tool_calls: calls } }];
  const content = [{ type: "tool_use", id: "c", name: "fs_read", input: {} }];
  const output = [{ type: "function_call", call_id: "c", name: "fs_read", arguments: "{}" }];
  const { status, body } = translation.reply({ choices, content, output, model: "m" });
  const text = JSON.stringify(body).replaceAll(/"(id|call_id|created_at|created)":[^,}]+/g, "");
  return { status, text, error: translation.error(400, "prompt is too long").body };
}

function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

for (const [client, to, requests] of CROSSINGS) {
  t.test(`${client} to ${to} is translated in a thread as on the main thread`, async () => {
    await fc.assert(
      fc.asyncProperty(requests, fc.constantFrom(...PROFILES), fc.nat(29), (body, profile, seed) =>
        check(client, to, longBody(body, seed), profile).then(() => true),
      ),
      { numRuns: 30 },
    );
  });
}

t.test("the translation cases come out the same in a thread", async () => {
  for (const { client, to, input, profile } of REQUEST_CASES)
    await check(client, to, longBody(input, 1), profile);
});

t.test("Responses is translated in a thread as on the main thread", async () => {
  for (const body of RESPONSES) {
    for (const to of ["messages", "chat"] as const) {
      for (const profile of PROFILES) {
        await check("responses", to, longBody({ model: "m", ...body }, 1), profile);
      }
    }
  }
});

t.test(
  "a field that comes twice, a long number and a tree that was edited are translated alike",
  async (t) => {
    const turns = [{ role: "user", content: `Hi${" there".repeat(12_000)}.` }];
    const body = JSON.stringify({ model: "m", max_tokens: 9, messages: turns }).slice(0, -1);
    const twice = `${body},"metadata":{"user_id":"a","user_id":"b","n":0.12345678901234567890123456789}}`;
    await check("messages", "chat", Buffer.from(twice), {});
    const call = callOf("messages", Buffer.from(`${body},"top_k":5}`));
    delete call.body.rewrite()["top_k"];
    t.strictSame(JSON.parse(String(call.body.bytes())), { ...JSON.parse(`${body}}`) });
    t.ok(call.body.length > 70_000, "so it is still translated in a thread");
  },
);

t.test(
  "too many values in all arguments together are refused, in a thread as on the main thread",
  async (t) => {
    // Each text has fewer than a body may have.
    const text = JSON.stringify({ a: Array(40_000).fill(0) });
    const calls = Array.from({ length: 4 }, (_, at) => ({ id: `c${at}`, text }));
    const toolCalls = calls.map(({ id, text }) => ({
      ...{ id, type: "function", function: { name: "f", arguments: text } },
    }));
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "x" }));
    const chat = [
      ...[{ role: "user", content: "q" }, { role: "assistant", tool_calls: toolCalls }, ...results],
    ];
    const input = [
      { role: "user", content: "q" },
      ...calls.map(({ id, text }) => ({
        ...{ type: "function_call", call_id: id, name: "f", arguments: text },
      })),
      ...calls.map(({ id }) => ({ type: "function_call_output", call_id: id, output: "x" })),
    ];
    for (const [client, body, at] of [
      ["chat", { messages: chat }, "messages[1].tool_calls[2].function.arguments"],
      ["responses", { input }, "input[3].arguments"],
    ] as const) {
      const json = Buffer.from(JSON.stringify({ model: "m", ...body }));
      const why = await check(client, "messages", json, {});
      t.equal(why, `${at}: the arguments up to here have more than 100000 values together`);
    }
  },
);

t.test("bodies were made and refused", async (t) => {
  t.comment(JSON.stringify(counts));
  t.ok(counts.made > 100 && counts.refused > 10);
});
