import t from "tap";
import { billedCalls, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, eventsOf, get, paths, post } from "../support/requests.ts";

const TOKENS = { input_tokens: 1_000, output_tokens: 1_000 };

t.test("a dated or prefixed name of a model", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    const alias = { unknown: "refuse", dated_names: "resolve", prefixes: "strip" };
    gateway = await startGateway({ plugins: { alias } });
  });
  t.teardown(() => gateway.close());

  t.test("is served by this model, at its price", async (t) => {
    const customer = await customerWith(gateway);
    const names = ["gpt-4.1-nano-2025-04-14", "openai/gpt-4.1-nano", "GPT-4.1-Nano"];
    for (const model of names) {
      const { status, headers } = await post(
        gateway,
        paths.chat,
        customer,
        bodies.chat(TOKENS, { model }),
      );
      t.equal(status, 200);
      t.equal(headers.get("x-svc-model"), "gpt-4.1-nano");
      t.equal(headers.get("x-svc-model-mapped-from"), model);
      t.equal(headers.get("x-svc-cost-vnd"), "3");
    }
    const records = await billedCalls(gateway, customer, names.length);
    t.strictSame(records.map(({ mapped_from }) => mapped_from).sort(), [...names].sort());
  });

  t.test("is refused with the nearest names if there is no such model", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.chat({}, { model: "gpt-4.1-nono" });
    const { status, json } = await post(gateway, paths.chat, customer, body);
    t.equal(status, 404);
    t.equal(json.error.code, "model_not_found");
    t.match(json.error.message, /nearest names are (?:req\/)?gpt-4\.1-nano, /);
  });

  t.test("of images or speech needs no req/", async (t) => {
    const customer = await customerWith(gateway);
    for (const [path, body] of [
      [paths.images, bodies.images({}, { model: "gpt-image-2" })],
      [paths.speech, bodies.speech({}, { model: "gpt-4o-mini-tts" })],
    ] as const) {
      const { status, headers } = await post(gateway, path, customer, body);
      t.equal(status, 200);
      t.equal(headers.get("x-svc-model"), `req/${headers.get("x-svc-model-mapped-from")}`);
    }
  });

  t.test("is replaced in a translated reply by the id of the model that served it", async (t) => {
    const customer = await customerWith(gateway);
    const named = { model: "openai/gpt-4.1-nano-2025-04-14" };
    const whole = await post(gateway, paths.messages, customer, bodies.messages(TOKENS, named));
    t.equal(whole.json.model, "gpt-4.1-nano");
    const streamed = { ...named, stream: true };
    const stream = await post(gateway, paths.messages, customer, bodies.messages({}, streamed));
    t.equal(eventsOf(stream.text)[0].message.model, "gpt-4.1-nano");
    const chat = { model: "anthropic/claude-opus-5-5" };
    const other = await post(gateway, paths.chat, customer, bodies.chat(TOKENS, chat));
    t.equal(other.json.model, "claude-opus-5-5");
    const chunks = await post(
      gateway,
      paths.chat,
      customer,
      bodies.chat({}, { ...chat, stream: true }),
    );
    t.equal(eventsOf(chunks.text)[0].model, "claude-opus-5-5");
  });
});

t.test("on /v1/responses, without translation", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway({ plugins: { translate: false } });
  });
  t.teardown(() => gateway.close());

  t.test("an unlisted name goes to the dearest model that this endpoint serves", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.responses(TOKENS, { model: "gpt-5-codex" });
    const { status, headers } = await post(gateway, paths.responses, customer, body);
    t.equal(status, 200);
    t.equal(headers.get("x-svc-model-mapped-from"), "gpt-5-codex");
    const { data } = (await get(gateway, "/v1/models", customer)).json;
    type Entry = { id: string; endpoints: string[]; pricing: { vnd_per_mtok: number | null } };
    const served = data.filter(({ endpoints }: Entry) => endpoints.includes(paths.responses));
    t.ok(served.length < data.length);
    const prices = served.map(({ pricing }: Entry) => pricing.vnd_per_mtok ?? 0);
    const used = served.find(({ id }: Entry) => id === headers.get("x-svc-model"));
    t.equal(used?.pricing.vnd_per_mtok, Math.max(...prices));
    const opus = data.find(({ id }: Entry) => id === "claude-opus-5-5");
    t.strictSame(opus.endpoints, [paths.messages]);
  });

  t.test("a name that means a model which this endpoint lacks is refused with both", async (t) => {
    const customer = await customerWith(gateway);
    const body = bodies.responses({}, { model: "opus" });
    const { status, json } = await post(gateway, paths.responses, customer, body);
    t.equal(status, 400);
    t.match(
      json.error.message,
      /^model: opus \(claude-opus-5-5\) is not served on \/v1\/responses: use one of gpt-/,
    );
    // A client of Responses speaks no other protocol: each model that is named works for it.
    const [named = ""] = /(?<=one of ).*(?= here)/.exec(json.error.message) ?? [];
    t.ok(named.split(", ").length > 5, named);
    for (const model of named.split(", ")) {
      const served = await post(
        gateway,
        paths.responses,
        customer,
        bodies.responses({}, { model }),
      );
      t.equal(served.status, 200, `${model}: ${served.text}`);
    }
  });
});
