import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import t from "tap";
import { stringify } from "yaml";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { assertNotCharged, billedCall, customerWith } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { asking, bodies, get, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

const PATH = "/v1/embeddings";
/** đ per 1,000,000 tokens. */
const PRICE = 10_000;
const MODEL = {
  ...{ id: "embed-small", price_vnd_per_mtok: PRICE, price: { input: 0.5 }, context_window: 100 },
  ...{ standard: "embeddings", routes: [{ upstream: "openai", model: "text-embedding-3-small" }] },
};
const CHAT = {
  ...{ id: "gpt", price_vnd_per_mtok: PRICE, context_window: 100_000, max_output_tokens: 4_000 },
  ...{ standard: "chat", routes: [{ upstream: "openai", model: "gpt" }] },
};

t.test("embeddings", async (t) => {
  let gateway: TestGateway;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  t.before(async () => {
    const catalogue = join(folder, "catalogue.yaml");
    writeFileSync(catalogue, stringify({ models: [MODEL, CHAT] }));
    const { simulator } = await sharedGateway();
    const protocols = { embeddings: `${simulator.url}/v1` };
    gateway = await startGateway({
      simulator,
      config: { catalogue, upstreams: { openai: { protocols } } },
      plugins: { alias: { default_family: "any", families: { any: "gpt" } } },
    });
  });
  t.teardown(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true });
  });

  t.test("cost the tokens of their input, with the official client", async (t) => {
    const customer = await customerWith(gateway);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: customer.key });
    const input = ["one text", "another text"];
    const { data, usage } = await client.embeddings.create({ model: MODEL.id, input });
    t.equal(data.length, 2);
    t.ok((data[0]?.embedding.length ?? 0) > 0);
    const record = await billedCall(gateway, customer);
    t.match(record, {
      ...{ model: MODEL.id, status: 200, output_tokens: 0 },
      input_tokens: usage.prompt_tokens,
      cost_vnd: formatVnd(usage.prompt_tokens * 0.5 * PRICE),
    });
  });

  t.test("take the tokens of a text, and more texts than fit one window", async (t) => {
    for (const [input, tokens] of [
      [[1, 2, 3], 3],
      [[[1, 2], [3]], 3],
      [Array.from({ length: 50 }, () => Array(90).fill(7)), 4_500],
    ] as const) {
      const customer = await customerWith(gateway);
      const reply = await post(gateway, PATH, customer, { model: MODEL.id, input });
      t.equal(reply.status, 200, reply.text);
      t.match(await billedCall(gateway, customer), { input_tokens: tokens });
    }
  });

  t.test("are charged by a count if their provider reports none, or 0", async (t) => {
    for (const usage of ["missing", "zero"] as const) {
      const customer = await customerWith(gateway);
      const input = asking({ usage }, "a text of some words");
      const reply = await post(gateway, PATH, customer, { model: MODEL.id, input });
      t.equal(reply.status, 200, reply.text);
      const record = await billedCall(gateway, customer);
      t.ok(Number(record["input_tokens"]) > 5, JSON.stringify(record));
      t.match(record, { estimated: true, output_tokens: 0 });
    }
  });

  t.test("need money for their input, and cost nothing if they fail", async (t) => {
    const poor = await customerWith(gateway, "0.001");
    const long = { model: MODEL.id, input: "word ".repeat(1_000) };
    t.equal((await post(gateway, PATH, poor, long)).status, 402);
    const customer = await customerWith(gateway);
    const failing = { model: MODEL.id, input: asking({ status: 500 }) };
    t.equal((await post(gateway, PATH, customer, failing)).status, 502);
    await assertNotCharged(gateway, customer);
  });

  t.test("refuse what is no text", async (t) => {
    const customer = await customerWith(gateway);
    for (const [more, why] of [
      [{}, /^input: a text/],
      [{ input: "" }, /^input: a text/],
      [{ input: ["a", 1] }, /^input: a text/],
      [{ input: [{ image: "b" }] }, /^input: a text/],
      [{ input: Array(2_049).fill("a") }, /^input: at most 2048 texts/],
      [{ input: "a", stream: true }, /^stream: embeddings are not streamed/],
    ] as const) {
      const { status, json } = await post(gateway, PATH, customer, { model: MODEL.id, ...more });
      t.equal(status, 400);
      t.match(json.error.message, why);
    }
  });

  t.test("and chat keep to their own models", async (t) => {
    const customer = await customerWith(gateway);
    const wrong = await post(gateway, PATH, customer, { model: "gpt", input: "a" });
    t.match(wrong.json.error.message, /gpt is a chat model: use \/v1\/messages/);
    const chat = await post(gateway, paths.chat, customer, bodies.chat({}, { model: MODEL.id }));
    t.match(chat.json.error.message, /embed-small makes embeddings: use \/v1\/embeddings/);
    const { json } = await get(gateway, "/v1/models/embed-small", customer);
    t.match(json, { api_standard: "embeddings", endpoints: [PATH] });
  });
});

t.test("without a model for embeddings, the reply says so", async (t) => {
  const gateway = await sharedGateway();
  const customer = await customerWith(gateway);
  const body = { model: "text-embedding-3-small", input: "a" };
  const { status, json } = await post(gateway, PATH, customer, body);
  t.equal(status, 404);
  t.match(json.error, {
    code: "model_not_found",
    message: /No model on offer here is for embeddings/,
  });
  await assertNotCharged(gateway, customer);
});
