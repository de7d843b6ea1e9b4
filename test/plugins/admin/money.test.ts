import assert from "node:assert/strict";
import t from "tap";
import {
  admin,
  committedWallet,
  createCustomer,
  credit,
  usage,
  wallet,
} from "../../support/admin.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";

t.test("admin API: money", async (t) => {
  let gateway: TestGateway;
  t.before(async () => {
    gateway = await startGateway();
  });
  t.teardown(() => gateway.close());

  const move = (account: string, movement: object) =>
    admin(gateway, "POST", `/accounts/${account}/credits`, movement);

  async function refusal(account: string, movement: object) {
    const { status, body } = await move(account, movement);
    const error = body["error"] as Record<string, unknown>;
    return [status, error["code"] ?? error["param"]];
  }

  async function call(key: string): Promise<number> {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        model: "claude-opus-5-5",
        max_tokens: 100,
        messages: [{ role: "user", content: 'hi [[sim {"input_tokens":7,"output_tokens":3}]]' }],
      }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  t.test("applies twenty credits with one reference once", async (t) => {
    const { accountId } = await createCustomer(gateway);
    const movement = { amount_vnd: "50000.000001", reference: "bank transfer 1" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => move(accountId, movement)));
    t.ok(
      answers.every(({ status, body }) => status === 200 && body["balance_vnd"] === "50000.000001"),
    );
    t.equal(answers.filter(({ body }) => body["applied"] === true).length, 1);
    t.equal((await wallet(gateway, accountId)).balance, "50000.000001");
  });

  t.test("refuses a reference that belongs to another movement", async (t) => {
    const [one, two] = [await createCustomer(gateway), await createCustomer(gateway)];
    await credit(gateway, one.accountId, 10, "mine");
    const same = { amount_vnd: 10, reference: "mine" };
    t.strictSame(await refusal(two.accountId, same), [409, "reference_conflict"]);
    const more = { amount_vnd: 11, reference: "mine" };
    t.strictSame(await refusal(one.accountId, more), [409, "reference_conflict"]);
    t.equal((await wallet(gateway, two.accountId)).balance, "0");
    t.equal((await wallet(gateway, one.accountId)).balance, "10");
  });

  t.test("takes money out only with a reason, and never more than is available", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: "10.5" });
    const less = { amount_vnd: "-10.500001", reference: "less" };
    t.strictSame(await refusal(accountId, less), [400, "reason"]);
    const reason = "chargeback";
    t.strictSame(await refusal(accountId, { ...less, reason }), [409, "below_zero"]);
    const all = { amount_vnd: -10.5, reference: "all", reason };
    t.strictSame(await move(accountId, all), {
      status: 200,
      body: { balance_vnd: "0", applied: true },
    });
    t.strictSame(await wallet(gateway, accountId), {
      balance: "0",
      held: "0",
      available: "0",
      pending: "0",
    });
  });

  t.test("refuses to fill a wallet beyond the amounts that are exact", async (t) => {
    const { accountId } = await createCustomer(gateway, { creditVnd: "9007199254" });
    // In two steps: a larger one needs a second person.
    await credit(gateway, accountId, "0.740991", "all that fits");
    const more = { amount_vnd: "0.000001", reference: "one too many" };
    t.strictSame(await refusal(accountId, more), [400, "amount_vnd"]);
    t.equal((await wallet(gateway, accountId)).balance, "9007199254.740991");
  });

  t.test("lists the cost of a call and its record (billing rule 10)", async (t) => {
    const { accountId, key, keyId } = await createCustomer(gateway, { creditVnd: 10 });
    t.strictSame(await usage(gateway, accountId), []);
    // 10 tokens at 36,000 đ per million.
    t.equal(await call(key), 200);
    t.equal((await committedWallet(gateway, accountId)).balance, "9.64");
    const [record, ...others] = await usage(gateway, accountId);
    t.strictSame(others, []);
    const { call_id, at, latency_ms, first_byte_ms, catalogue_version, ...rest } = record ?? {};
    t.match(String(catalogue_version), /^[0-9a-f]{8}$/);
    t.ok(Number(record?.["held_vnd"]) >= 0.36);
    t.match(String(call_id), /^[0-9a-f-]{36}$/);
    t.ok(Math.abs(Date.parse(String(at)) - Date.now()) < 60_000);
    t.ok(Number(first_byte_ms) <= Number(latency_ms));
    t.strictSame(rest, {
      model: "claude-opus-5-5",
      input_tokens: 7,
      output_tokens: 3,
      cost_vnd: "0.36",
      status: 200,
      key_id: keyId,
      endpoint: "/v1/messages",
      mapped_from: null,
      upstream: "anthropic",
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      images: 0,
      written_off_vnd: "0",
      discount_bps: 0,
      streamed: false,
      outcome: "complete",
      estimated: false,
      account_id: accountId,
      unit: "mtok",
      unit_price_vnd: "36000",
      factors: null,
      quantity: 10,
      discounts: null,
      fees_vnd: "0",
      purses: null,
      provider_cost_vnd: null,
      held_vnd: record?.["held_vnd"],
    });
  });

  t.test("pages through usage, newest first, without gaps or repetitions", async (t) => {
    const { accountId, key } = await createCustomer(gateway, { creditVnd: 100 });
    await Promise.all(Array.from({ length: 11 }, () => call(key)));
    await committedWallet(gateway, accountId);
    const all = await usage(gateway, accountId);
    t.equal(all.length, 11);
    const ats = all.map((record) => String(record["at"]));
    t.strictSame(ats, [...ats].sort().reverse());
    const paged: unknown[] = [];
    let before = "";
    for (let page = 0; page < 4; page++) {
      const path = `/accounts/${accountId}/usage?limit=4${before}`;
      const { body } = await admin(gateway, "GET", path);
      assert.ok(Array.isArray(body["list"]));
      paged.push(...body["list"]);
      const last = body["list"].at(-1);
      if (last) before = `&before=${last.at},${last.call_id}`;
    }
    t.strictSame(paged, all);
  });
});
