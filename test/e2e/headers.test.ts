import assert from "node:assert/strict";
import t from "tap";
import { admin, type Customer } from "../support/admin.ts";
import { billedCalls, customerWith } from "../support/billed.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type Answer, bodies, paths, post } from "../support/requests.ts";
import { sharedGateway } from "../support/shared-gateway.ts";

/** 1.33 %: a price of a token less this is no whole number of µđ. */
const DISCOUNT_BPS = 133;
const TOKENS = { input_tokens: 1333, output_tokens: 667 };

let gateway: TestGateway;
t.before(async () => {
  gateway = await sharedGateway();
});

async function discounted(): Promise<Customer> {
  const customer = await customerWith(gateway);
  const path = `/accounts/${customer.accountId}/discount`;
  const body = { discount_bps: DISCOUNT_BPS, reason: "a test" };
  assert.equal((await admin(gateway, "POST", path, body)).status, 200);
  return customer;
}

const shown = ({ headers }: Answer, name: string) => Number(headers.get(`x-svc-${name}`) ?? NaN);
const rounded = (vnd: number) => Math.round(vnd * 1_000_000) / 1_000_000;

t.test("the headers of a reply add up to its cost under a discount", async (t) => {
  const customer = await discounted();
  for (const [path, body] of [
    [paths.messages, bodies.messages(TOKENS)],
    [paths.chat, bodies.chat(TOKENS)],
    [paths.messages, bodies.messages(TOKENS, { model: "gpt-4.1-nano" })],
    [paths.responses, bodies.responses(TOKENS)],
  ] as const) {
    const answer = await post(gateway, path, customer, body);
    t.equal(answer.status, 200, answer.text);
    const tokens = shown(answer, "input-tokens") + shown(answer, "output-tokens");
    const cost = (tokens * shown(answer, "price-vnd-per-mtok")) / 1_000_000;
    t.equal(tokens, 2000);
    t.equal(shown(answer, "cost-vnd"), rounded(cost), path);
    t.equal(shown(answer, "discount-bps"), DISCOUNT_BPS);
  }
  const chat = await post(
    gateway,
    paths.chat,
    customer,
    bodies.chat(TOKENS, { model: "req/gpt-4.1-nano" }),
  );
  t.equal(shown(chat, "cost-vnd"), shown(chat, "price-vnd-per-request"));
  const images = await post(gateway, paths.images, customer, bodies.images({}, { n: 2 }));
  t.equal(shown(images, "cost-vnd"), 2 * shown(images, "price-vnd-per-image"));
  t.equal(shown(images, "price-vnd-per-request"), shown(images, "price-vnd-per-image"));
  const stream = await post(
    gateway,
    paths.chat,
    customer,
    bodies.chat(TOKENS, { stream: true, model: "claude-opus-5-5" }),
  );
  t.equal(shown(stream, "price-vnd-per-mtok"), rounded(36_000 * (1 - DISCOUNT_BPS / 10_000)));
  t.equal(shown(stream, "discount-bps"), DISCOUNT_BPS);
  const records = await billedCalls(gateway, customer, 7);
  const costs = records.map(({ cost_vnd }) => Number(cost_vnd));
  t.ok(costs.includes(shown(chat, "cost-vnd")) && costs.includes(shown(images, "cost-vnd")));
});

t.test("no header names a discount if there is none", async (t) => {
  const customer = await customerWith(gateway);
  const answer = await post(gateway, paths.chat, customer, bodies.chat(TOKENS));
  t.equal(answer.headers.get("x-svc-discount-bps"), null);
});

t.test("the headers of speech are the same for a short and a long text", async (t) => {
  const customer = await discounted();
  const own = ({ headers }: Answer) =>
    [...headers].filter(([name]) => name.startsWith("x-svc-")).sort();
  const [short, long] = [
    await post(gateway, paths.speech, customer, bodies.speech({ audio_bytes: 100 })),
    await post(gateway, paths.speech, customer, bodies.speech({ audio_bytes: 300_000 })),
  ];
  t.strictSame(own(short), [
    ["x-svc-cost-vnd", "1332.045"],
    ["x-svc-discount-bps", "133"],
    ["x-svc-input-tokens", "0"],
    ["x-svc-model", "req/gpt-4o-mini-tts"],
    ["x-svc-output-tokens", "0"],
    ["x-svc-price-vnd-per-request", "1332.045"],
  ]);
  t.strictSame(own(long), own(short));
});
