import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { stringify } from "yaml";
import { admin, committedWallet } from "../support/admin.ts";
import { billedCall, billedCalls, customerWith } from "../support/billed.ts";
import { echoIn } from "../support/echo.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { bodies, get, paths, post, reload } from "../support/requests.ts";

/** đ per 1,000,000 tokens: a token at a factor of 1 costs 0.01 đ. */
const UNIT_PRICE = 10_000;
const FACTORS = { cached_input: 0.1, cache_write: 1.25, output: 4 };

const routesTo = (upstream: string, id: string) => [{ upstream, model: id }];
const chatModel = (id: string, standard: string, price: object) => ({
  ...{ id, price_vnd_per_mtok: UNIT_PRICE, price, standard },
  ...{ context_window: 100_000, max_output_tokens: 4_000, labels: ["streaming"] },
  routes: routesTo(standard === "chat" ? "openai" : "anthropic", id),
});
const mediaModel = (id: string, standard: string, price: object) => ({
  ...{ id, price_vnd_per_call: 1_000, price, standard },
  routes: routesTo("openai", id.replace("req/", "")),
});
const MODELS = [
  chatModel("claude", "messages", FACTORS),
  chatModel("gpt", "chat", FACTORS),
  chatModel("gpt-even", "chat", {}),
  mediaModel("req/gpt-image-2", "images", { per_image: 0.5 }),
  mediaModel("req/gpt-4o-mini-tts", "speech", { per_call: 1.5 }),
];

const ALIAS = { default_family: "any", families: { any: "claude" } };
const TOKENS = { cache_read_tokens: 600, cache_write_tokens: 100, output_tokens: 50 };
const USED = { input_tokens: 1_000, ...TOKENS };
/** 300 fresh, 600 cached, 100 written and 50 of output. */
const QUANTITY = 300 + 600 * 0.1 + 100 * 1.25 + 50 * 4;
const COST_VND = "6.85";

let gateway: TestGateway;
const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
const catalogue = join(folder, "catalogue.yaml");
t.before(async () => {
  writeFileSync(catalogue, stringify({ models: MODELS }));
  gateway = await startGateway({ config: { catalogue }, plugins: { alias: ALIAS } });
});
t.teardown(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

/** The usage of each protocol has another form: Messages reports cached tokens beside the input, the others in it. */
for (const protocol of ["messages", "chat", "responses"] as const) {
  for (const model of ["claude", "gpt"]) {
    for (const stream of [false, true]) {
      const what = `${protocol}, to a model of ${model}${stream ? ", streamed" : ""}`;
      t.test(`each kind of token costs its own price: ${what}`, async (t) => {
        const customer = await customerWith(gateway);
        const body = bodies[protocol](USED, { model, stream });
        const answer = await post(gateway, paths[protocol], customer, body);
        t.equal(answer.status, 200, answer.text);
        const record = await billedCall(gateway, customer);
        t.match(record, {
          cost_vnd: COST_VND,
          input_tokens: 1_000,
          cache_read_tokens: 600,
          cache_write_tokens: 100,
          output_tokens: 50,
          unit_price_vnd: String(UNIT_PRICE),
          factors: FACTORS,
          quantity: QUANTITY,
          written_off_vnd: "0",
        });
        const shown = await get(gateway, `/v1/calls/${record["call_id"]}`, customer);
        t.strictSame([shown.json.is_equal, shown.json.recomputed_vnd], [true, COST_VND]);
        t.equal(
          shown.json.calculation.formula,
          "685 tokens (300 in, 600 cached × 0.1, 100 written to the cache × 1.25, 50 out × 4) " +
            "× 10000 đ / 1000000 = 6.85 đ",
        );
        const { headers } = answer;
        t.equal(headers.get("x-svc-price-vnd-per-mtok"), String(UNIT_PRICE));
        t.equal(headers.get("x-svc-price-factors"), "cached_input=0.1, cache_write=1.25, output=4");
        const parts = ["cached-input-tokens", "cache-write-tokens", "cost-vnd"].map((name) =>
          headers.get(`x-svc-${name}`),
        );
        t.strictSame(parts, stream ? [null, null, null] : ["600", "100", COST_VND]);
      });
    }
  }
}

t.test("a model without factors charges cached tokens like others, and shows none", async (t) => {
  const customer = await customerWith(gateway);
  const answer = await post(
    gateway,
    paths.chat,
    customer,
    bodies.chat(USED, { model: "gpt-even" }),
  );
  t.equal(answer.headers.get("x-svc-cost-vnd"), "10.5");
  t.equal(answer.headers.get("x-svc-price-factors"), null);
  t.equal(answer.headers.get("x-svc-cached-input-tokens"), null);
  const record = await billedCall(gateway, customer);
  t.match(record, { cost_vnd: "10.5", quantity: 1_050, factors: null });
});

t.test("a discount applies to the whole sum, rounded once", async (t) => {
  const customer = await customerWith(gateway);
  const discount = { discount_bps: 333, reason: "a test" };
  await admin(gateway, "POST", `/accounts/${customer.accountId}/discount`, discount);
  const used = { ...USED, cache_read_tokens: 601 };
  await post(gateway, paths.chat, customer, bodies.chat(used, { model: "gpt" }));
  const record = await billedCall(gateway, customer);
  // 684.1 × 10,000 µđ × 0.9667 = 6,613,194.7
  t.match(record, { quantity: 684.1, cost_vnd: "6.613195" });
  const shown = await admin(gateway, "GET", `/calls/${record["call_id"]}`);
  t.match(shown.body, {
    is_equal: true,
    calculation: { list_vnd: "6.8410", discount_vnd: "0.227805", charged_vnd: "6.613195" },
  });
});

t.test("an image and a call have factors too", async (t) => {
  const customer = await customerWith(gateway);
  const images = await post(gateway, paths.images, customer, bodies.images({}, { n: 3 }));
  t.equal(images.headers.get("x-svc-cost-vnd"), "1500");
  const speech = await post(gateway, paths.speech, customer, bodies.speech());
  t.equal(speech.headers.get("x-svc-cost-vnd"), "1500");
  const records = await billedCalls(gateway, customer, 2);
  t.strictSame(
    records.map(({ quantity, factors, cost_vnd }) => [quantity, factors, cost_vnd]),
    [
      [1.5, { per_call: 1.5 }, "1500"],
      [1.5, { per_image: 0.5 }, "1500"],
    ],
  );
  const formulas = await Promise.all(
    records.map(async ({ call_id }) => {
      return (await get(gateway, `/v1/calls/${call_id}`, customer)).json.calculation.formula;
    }),
  );
  t.strictSame(formulas, [
    "1.5 calls (1 × 1.5) × 1000 đ = 1500 đ",
    "1.5 images (3 × 0.5) × 1000 đ = 1500 đ",
  ]);
});

t.test("the list of models states the factors of those that have any", async (t) => {
  const customer = await customerWith(gateway);
  const { data } = (await get(gateway, "/v1/models", customer)).json;
  const factors = data.map(({ pricing }: { pricing: { factors?: object } }) => pricing.factors);
  t.strictSame(factors, [FACTORS, FACTORS, undefined, { per_image: 0.5 }, { per_call: 1.5 }]);
});

t.test("a short wallet buys the output that it covers at the price of output", async (t) => {
  /** The limit of output that a provider gets from a wallet with 20 đ. */
  const limitOf = async (model: string) => {
    const poor = await customerWith(gateway, 20);
    const body = bodies.chat({ echo: true }, { model, max_tokens: 4_000 });
    const { json, text } = await post(gateway, paths.chat, poor, body);
    const sent = echoIn(json.choices?.[0]?.message?.content).body as Record<string, number>;
    const record = await billedCall(gateway, poor);
    t.equal(record["written_off_vnd"], "0", text);
    return Number(sent["max_completion_tokens"]);
  };
  const even = await limitOf("gpt-even");
  const dearer = await limitOf("gpt");
  // 2,000 tokens at a factor of 1, some of them input, which is held at 1.25; output costs 4.
  t.ok(even > 1_700 && even < 2_000, String(even));
  const input = 2_000 - even;
  t.equal(dearer, Math.floor((2_000 - input * 1.25) / 4));
});

t.test("a stream is cut where its wallet ends, or finishes if the config says so", async (t) => {
  const body = bodies.chat({ output_tokens: 3_000 }, { model: "gpt", stream: true });
  const streamed = async () => {
    const poor = await customerWith(gateway, 60);
    const { text } = await post(gateway, paths.chat, poor, { ...body, max_tokens: 4_000 });
    const record = await billedCall(gateway, poor);
    const shown = await get(gateway, `/v1/calls/${record["call_id"]}`, poor);
    t.equal(shown.json.is_equal, true);
    const { balance } = await committedWallet(gateway, poor.accountId);
    return { text, record, balance: Number(balance) };
  };
  const cut = await streamed();
  t.match(cut.text, /insufficient_balance/);
  t.match(cut.record, { outcome: "exhausted", written_off_vnd: "0", factors: FACTORS });
  t.ok(cut.balance >= 0 && cut.balance < 60, String(cut.balance));

  await reload(gateway, {
    config: { catalogue },
    plugins: { alias: ALIAS, settle: { when_exhausted: "finish" } },
  });
  const finished = await streamed();
  t.notMatch(finished.text, /insufficient_balance/);
  t.match(finished.record, { outcome: "complete", output_tokens: 3_000, cost_vnd: "60" });
  t.ok(Number(finished.record["written_off_vnd"]) > 60);
  t.equal(finished.balance, 0);
});
