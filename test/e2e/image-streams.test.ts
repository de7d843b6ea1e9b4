import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { APIError, toFile } from "openai";
import t from "tap";
import { parse, stringify } from "yaml";
import { makePng } from "../../plugins/simulator/png.ts";
import { assertBalance, assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { wholeCatalogueOfTests } from "../support/catalogue.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertReconciled, noCallsInFlight } from "../support/proof.ts";
import type { Directive } from "../support/provider/directive.ts";
import { asking, bodies, eventsOf, openStream, paths, post, send } from "../support/requests.ts";

const MODEL = "req/gpt-image-2";
/** The same with a price for partial images, and one that is not streamed. */
const PARTS = "req/parts-image";
const UNSTREAMED = "req/whole-image";
const PNG = makePng(8, 8, 0x00ff00);
const SILENT_MS = 600_000;

let gateway: TestGateway;
t.before(async () => {
  const { models } = parse(readFileSync(wholeCatalogueOfTests(), "utf8"), { merge: true });
  const shipped = models.find(({ id }: { id: string }) => id === MODEL);
  const parts = { 0: 1, 1: 1.06, 2: 1.12, 3: 1.18 };
  const option_factors = { ...shipped.option_factors, partial_images: parts };
  const kept = [
    shipped,
    { ...shipped, id: PARTS, option_factors },
    { ...shipped, id: UNSTREAMED, labels: ["vision"] },
  ];
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const catalogue = join(folder, "catalogue.yaml");
  writeFileSync(catalogue, stringify({ models: kept }));
  const config = { catalogue, limits: { heartbeat_seconds: 1, first_byte_seconds: 2 } };
  gateway = await startGateway({ config, plugins: { alias: false } });
  rmSync(folder, { recursive: true });
});
t.teardown(async () => {
  await noCallsInFlight(gateway);
  await assertReconciled(gateway);
  await gateway.close();
});

async function client() {
  const customer = await customerWith(gateway);
  const baseURL = `${gateway.url}/v1`;
  return { openai: new OpenAI({ baseURL, apiKey: customer.key, maxRetries: 0 }), customer };
}

const streamed = (directive: Directive, more: object = {}) => ({
  model: MODEL,
  prompt: asking(directive),
  stream: true as const,
  ...more,
});

async function typesOf(events: AsyncIterable<{ readonly type: string }>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

t.test("OpenAI's client streams an image", { jobs: 4 }, async (t) => {
  t.test("that is made, and is charged for it once, with its tokens", async (t) => {
    const { openai, customer } = await client();
    const { data, response } = await openai.images
      .generate(streamed({}, { size: "1024x1536" }))
      .withResponse();
    t.strictSame(
      ["cost-vnd", "output-tokens", "price-vnd-per-image"].map((name) =>
        response.headers.get(`x-svc-${name}`),
      ),
      [null, null, "1000"],
      "as for each stream, whenever its head leaves",
    );
    const events = [];
    for await (const event of data) events.push(event);
    const [event] = events;
    assert.equal(events.length, 1);
    assert.equal(event?.type, "image_generation.completed");
    const png = Buffer.from(event.b64_json, "base64");
    t.strictSame([png.readUInt32BE(16), png.readUInt32BE(20)], [1_024, 1_536]);
    t.equal(event.usage.output_tokens, 1_000);
    await assertBalance(gateway, customer, "99000");
    const record = await billedCall(gateway, customer);
    t.match(record, { images: 1, output_tokens: 1_000, streamed: true, outcome: "complete" });
  });

  t.test("that is edited, by a form", async (t) => {
    const { openai, customer } = await client();
    const image = await toFile(PNG, "a.png", { type: "image/png" });
    const stream = await openai.images.edit(
      streamed({}, { image: [image, image], quality: "high" as const }) as never,
    );
    t.strictSame(await typesOf(stream as never), ["image_edit.completed"]);
    await assertBalance(gateway, customer, "95760");
  });

  t.test("that is edited, by JSON", async (t) => {
    const { customer } = await client();
    const image = PNG.toString("base64");
    const { text } = await post(gateway, paths.edits, customer, streamed({}, { image }));
    t.match(eventsOf(text), [{ type: "image_edit.completed", b64_json: String }]);
    await assertBalance(gateway, customer, "99000");
  });

  t.test("without partial images if they have no price, which a header names", async (t) => {
    const { openai, customer } = await client();
    const { data, response } = await openai.images
      .generate(streamed({}, { partial_images: 2 }))
      .withResponse();
    t.strictSame(await typesOf(data as never), ["image_generation.completed"]);
    t.equal(response.headers.get("x-svc-left-out"), "partial_images");
    const none = await openai.images.generate(streamed({}, { partial_images: 0 })).withResponse();
    await typesOf(none.data as never);
    t.equal(none.response.headers.get("x-svc-left-out"), null);
    await assertBalance(gateway, customer, "98000");
  });

  t.test("with the partial images that have a price, of JSON and of a form", async (t) => {
    const { openai, customer } = await client();
    const more = { model: PARTS, partial_images: 2 };
    const part = "image_generation.partial_image";
    t.strictSame(await typesOf((await openai.images.generate(streamed({}, more))) as never), [
      ...[part, part],
      "image_generation.completed",
    ]);
    await assertBalance(gateway, customer, "98880");
    const image = await toFile(PNG, "a.png", { type: "image/png" });
    const edited = await openai.images.edit(streamed({}, { ...more, image }) as never);
    t.equal((await typesOf(edited as never)).length, 3);
    await assertBalance(gateway, customer, "97760");
    await typesOf((await openai.images.generate(streamed({}, { model: PARTS }))) as never);
    await assertBalance(gateway, customer, "96760");
    const whole = await openai.images
      .generate({ model: PARTS, prompt: "a toll", partial_images: 2 })
      .withResponse();
    t.equal(whole.response.headers.get("x-svc-left-out"), "partial_images");
    await assertBalance(gateway, customer, "95760");
    for (const [name, value, param] of [
      ["partial_images", "3.0", "partial_images"],
      ["quality[]", "low", "quality"],
    ] as const) {
      const form = new FormData();
      const fields = { model: PARTS, prompt: "a toll", stream: "true", [name]: value };
      for (const [field, text] of Object.entries(fields)) form.set(field, text);
      form.set("image", new Blob([new Uint8Array(PNG)]), "a.png");
      const headers = { authorization: `Bearer ${customer.key}` };
      const refused = await send(gateway, paths.edits, { method: "POST", headers, body: form });
      t.match(refused.json, { error: { param } });
    }
    const four = { model: PARTS, partial_images: 4 };
    await t.rejects(
      openai.images.generate(streamed({}, four)),
      /partial_images: one of 0, 1, 2, 3/,
    );
  });

  t.test("and gets a failure as an error, for nothing", async (t) => {
    const error = {
      type: "image_generation_user_error",
      code: "moderation_blocked",
      message: "no",
    };
    for (const [at, more] of [
      [0, {}],
      [1, { model: PARTS, partial_images: 2 }],
    ] as const) {
      const { openai, customer } = await client();
      const directive = { error_after_events: at, error };
      const stream = openai.images.generate(streamed(directive, more));
      const failure = await stream.then((events) => typesOf(events as never)).catch((it) => it);
      assert.ok(failure instanceof APIError, String(failure));
      t.match(failure, { code: "moderation_blocked", type: error.type });
      await assertNotCharged(gateway, customer);
    }
  });
});

t.test("a stream of an image", { jobs: 4 }, async (t) => {
  t.test("gets signs of life as long as the image is drawn", async (t) => {
    const { customer } = await client();
    const until = customer.accountId;
    const body = streamed({ delay_ms: SILENT_MS, until });
    const call = await openStream(gateway, paths.images, customer, body);
    // Longer than `first_byte_seconds`: no image is there before it is drawn.
    await call.until((text) => text.split(": waiting for the model\n\n").length > 4);
    await gateway.simulator.release(until);
    t.match(await call.rest(), /image_generation\.completed/);
    await assertBalance(gateway, customer, "99000");
  });

  t.test("gets a refusal as an event after a sign of life", async (t) => {
    const { customer } = await client();
    const until = customer.accountId;
    const refused = { delay_ms: SILENT_MS, until, status: 400, error: { message: "not this" } };
    const call = await openStream(gateway, paths.images, customer, streamed(refused));
    await call.until((text) => text.includes(": waiting"));
    await gateway.simulator.release(until);
    t.match(eventsOf(await call.rest()), [{ error: { message: "not this" } }]);
    await assertNotCharged(gateway, customer);
  });

  t.test("that breaks off before its image is free", async (t) => {
    const parts = { model: PARTS, partial_images: 2 };
    const imageless = { type: "image_generation.completed", usage: { output_tokens: 9 } };
    const cases: readonly (readonly [Directive, object])[] = [
      [{ cut_after_events: 1 }, parts],
      [{ end_after_events: 2 }, parts],
      [{ reply: ["[DONE]"] }, {}],
      [{ reply: [imageless] }, {}],
    ];
    for (const [directive, more] of cases) {
      const { customer } = await client();
      const { text } = await post(gateway, paths.images, customer, streamed(directive, more));
      t.match(text, /"error":\{/, text);
      t.notMatch(text, /\.completed/);
      await assertNotCharged(gateway, customer);
    }
  });

  t.test("whose events have no type in their data, or none beside it, is the same", async (t) => {
    const image = { b64_json: PNG.toString("base64"), usage: { output_tokens: 7 } };
    const typed = { type: "image_generation.completed", ...image };
    const named = `event: ${typed.type}\ndata: ${JSON.stringify(image)}\n\n`;
    const ways: readonly Directive[] = [
      { reply: [typed, "[DONE]"] },
      { reply: named, reply_type: "text/event-stream" },
      { reply: [typed, typed] },
      { reply: [typed, { error: { message: "late" } }] },
    ];
    for (const way of ways) {
      const { customer } = await client();
      const { text } = await post(gateway, paths.images, customer, streamed(way));
      t.match(eventsOf(text), [image]);
      t.equal(text.split("b64_json").length, 2);
      await assertBalance(gateway, customer, "99000");
    }
  });

  t.test("whose client leaves is drawn to its end, and costs it", async (t) => {
    const { customer } = await client();
    const until = customer.accountId;
    const body = streamed({ delay_ms: SILENT_MS, until });
    const call = await openStream(gateway, paths.images, customer, body);
    await call.until((text) => text.includes(": waiting"));
    call.leave();
    await gateway.simulator.release(until);
    t.match(await billedCall(gateway, customer), { outcome: "left", images: 1, cost_vnd: "1000" });
    await assertBalance(gateway, customer, "99000");
  });

  t.test("has one image, of a size that fits in an event, and a model that can", async (t) => {
    const { customer } = await client();
    for (const [more, param] of [
      [{ n: 2 }, "n"],
      [{ size: "3840x2160", background: "transparent" }, "size"],
      [{ model: UNSTREAMED }, "stream"],
      [{ partialImages: 3 }, "partial_images"],
    ] as const) {
      const { status, json } = await post(gateway, paths.images, customer, streamed({}, more));
      t.strictSame([status, json.error.param], [400, param], JSON.stringify(json));
    }
    await assertNotCharged(gateway, customer);
    const large = { size: "3840x2160", n: 1 };
    const { text } = await post(gateway, paths.images, customer, streamed({}, large));
    t.match(text, /completed/);
    await assertBalance(gateway, customer, "96600");
  });
});

t.test("a call that is not streamed gets its images as before", async (t) => {
  const { customer } = await client();
  const body = bodies.images({}, { stream: false, n: 2 });
  t.equal((await post(gateway, paths.images, customer, body)).json.data.length, 2);
  await assertBalance(gateway, customer, "98000");
});
