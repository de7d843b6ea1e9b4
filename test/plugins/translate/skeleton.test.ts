import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { endpoints } from "../../../core/catalogue/endpoint.ts";
import type { Profile } from "../../../core/catalogue/profile.ts";
import { readJsonBody } from "../../../core/http/json-body.ts";
import type { Services } from "../../../core/plugin/services.ts";
import type { JsonObject } from "../../../core/process/json.ts";
import { isRefusal } from "../../../core/wire/refusal.ts";
import { contentsOf } from "../../../plugins/meter/bound.ts";
import { StateSeal } from "../../../plugins/translate/state/seal.ts";
import { TranslatedRequest } from "../../../plugins/translate/translated-request.ts";
import { Translation } from "../../../plugins/translate/translation.ts";
import { newCall } from "../../support/call.ts";
import { modelOf } from "../../support/plugin-desk.ts";
import { CROSSINGS, longBody, PROFILES, REQUEST_CASES, RESPONSES } from "./long-bodies.ts";

type Client = "messages" | "chat" | "responses";

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
  const translation = new Translation(call, model, services, StateSeal.of("x"), to);
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
  const json = longBody(body, seed);
  const [left, whole] = [false, true].map((all) => made(client, to, json, profile, all));
  assert.deepStrictEqual(left, whole);
}

for (const [client, to, requests] of CROSSINGS) {
  t.test(`${client} to ${to} is translated without its texts as it is with them`, async () => {
    fc.assert(
      fc.property(requests, fc.constantFrom(...PROFILES), fc.nat(29), (body, profile, seed) => {
        check(client, to, body, profile, seed);
      }),
      { numRuns: 60 },
    );
  });
}

t.test("the translation cases come out the same without their texts", async () => {
  for (const { client, to, input, profile } of REQUEST_CASES)
    for (let seed = 0; seed < 2; seed++) check(client, to, input, profile, seed);
});

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
