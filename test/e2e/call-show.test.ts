import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { runCli } from "../plugins/admin/cli-runs.ts";
import { admin, createCustomer } from "../support/admin.ts";
import { billedCalls } from "../support/billed.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { withLedger } from "../support/ledger-sql.ts";
import { type Answer, asking, bodies, get, paths, post, reload } from "../support/requests.ts";
import { until } from "../support/until.ts";

const PROMOTED = { topup: { promotions: { counted: "all" } } };
const TOKENS = { input_tokens: 1000, output_tokens: 501 };

t.test("the explanation of a call's cost", async (t) => {
  let gateway: TestGateway;
  /** With 5% of the account's own, 1% for the day and 1% permanent. */
  gateway = await startGateway({ plugins: PROMOTED });
  const customer = await createCustomer(gateway, { creditVnd: 10_000_000 });
  const path = `/accounts/${customer.accountId}/discount`;
  const set = await admin(gateway, "POST", path, { discount_bps: 500, reason: "a test" });
  assert.equal(set.status, 200);
  const other = await createCustomer(gateway, { creditVnd: 1_000 });
  t.teardown(() => gateway.close());

  const idOf = ({ headers, status, text }: Answer) => {
    assert.equal(status, 200, text);
    return headers.get("x-request-id") ?? "";
  };

  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects
  async function shown(callId: string): Promise<any> {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    let found: any;
    await until("the call is recorded", async () => {
      found = (await admin(gateway, "GET", `/calls/${callId}`)).body;
      return found.state === "recorded";
    });
    return found;
  }

  async function cli(...args: string[]) {
    const env = { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken };
    return runCli([...args, "--json"], { env });
  }

  const DISCOUNTS = { account: 500, lifetime: 100, daily: 100 };

  for (const [what, call, expected] of [
    [
      "by tokens",
      () => post(gateway, paths.messages, customer, bodies.messages(TOKENS)),
      {
        quantity: 1501,
        unit: "mtok",
        unit_price_vnd: "36000",
        parts: [
          { kind: "input", count: 1_000, factor: 1 },
          { kind: "output", count: 501, factor: 1 },
        ],
        list_vnd: "54.0360",
        discount_vnd: "3.78252",
        charged_vnd: "50.25348",
        formula:
          "1501 tokens (1000 in, 501 out) × 36000 đ / 1000000 = 54.0360 đ; " +
          "less 7% (account 5%, lifetime 1%, daily 1%) = 50.25348 đ",
      },
    ],
    [
      "by the call",
      () => post(gateway, paths.chat, customer, bodies.chat(TOKENS, { model: "req/gpt-4.1-nano" })),
      {
        quantity: 1,
        unit: "call",
        unit_price_vnd: "230",
        parts: [{ kind: "per_call", count: 1, factor: 1 }],
        list_vnd: "230",
        discount_vnd: "16.1",
        charged_vnd: "213.9",
      },
    ],
    [
      "by images",
      () => post(gateway, paths.images, customer, bodies.images({}, { n: 3 })),
      {
        quantity: 3,
        unit: "image",
        unit_price_vnd: "1000",
        parts: [{ kind: "per_image", count: 3, factor: 1 }],
        list_vnd: "3000",
        discount_vnd: "210",
        charged_vnd: "2790",
      },
    ],
  ] as const) {
    t.test(`is shown for a price ${what}, with every discount by its name`, async (t) => {
      const found = await shown(idOf(await call()));
      t.equal(found.recomputed_vnd, found.cost_vnd);
      t.equal(found.is_equal, true);
      t.strictSame(found.discounts, DISCOUNTS);
      t.match(found.catalogue_version, /^[0-9a-f]{8}$/);
      const { calculation } = found;
      const { formula, discounts, discount_bps, fees_vnd, ...rest } = calculation;
      t.strictSame(discounts, DISCOUNTS);
      t.strictSame([discount_bps, fees_vnd], [700, "0"]);
      const wanted = { formula, ...expected };
      t.strictSame(
        { ...rest, formula },
        { ...wanted, cost_before_write_off_vnd: expected.charged_vnd, written_off_vnd: "0" },
      );
      t.equal(found.cost_vnd, expected.charged_vnd);
    });
  }

  t.test("is shown by `call show`, and to a key of its account as to the operator", async (t) => {
    const id = idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS)));
    const found = await shown(id);
    const { code, stdout } = await cli("call", "show", "--call", id);
    t.strictSame([code, JSON.parse(stdout)], [0, found]);
    const mine = await get(gateway, `/v1/calls/${id}`, customer);
    t.equal(mine.status, 200);
    const { ledger } = found;
    t.match(ledger, { entry: /^\d+$/, amount_vnd: "-50.25348" });
    const wallet = await admin(gateway, "GET", `/accounts/${customer.accountId}/wallet`);
    t.equal(ledger.balance_after_vnd, wallet.body["balance_vnd"]);
    t.ok(Number(found.held_vnd) >= Number(found.cost_vnd), found.held_vnd);
    t.equal(found.email, customer.email);
    const hidden = ["account_id", "email", "upstream", "purses", "provider_cost_vnd"];
    hidden.push("held_vnd", "ledger", "refunded_vnd");
    for (const name of hidden) {
      t.ok(name in found && !(name in mine.json), name);
      delete found[name];
    }
    t.strictSame(mine.json, found);
  });

  t.test("is hidden from other accounts", async (t) => {
    const id = idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS)));
    t.equal((await get(gateway, `/v1/calls/${id}`, other)).status, 404);
    await shown(id);
    const refused = await get(gateway, `/v1/calls/${id}`, other);
    t.equal(refused.status, 404);
    t.ok(!refused.text.includes("36000"));
    t.equal((await get(gateway, `/v1/calls/${id}`, undefined)).status, 401);
    for (const unknown of ["x", other.accountId, "ffffffff-ffff-7fff-8fff-ffffffffffff"]) {
      t.equal((await get(gateway, `/v1/calls/${unknown}`, customer)).status, 404);
      t.equal((await admin(gateway, "GET", `/calls/${unknown}`)).status, 404);
    }
    t.equal((await cli("call", "show", "--call", "x")).code, 1);
    const nothing = await cli("refund", "--call", other.accountId, "--reason", "a test");
    t.match(nothing.stderr, /no such top-up or call/);
    t.notMatch(nothing.stderr, /no admin API/);
  });

  t.test("is pending while the call runs, and visible to its own account only", async (t) => {
    const slow = { text: "word ".repeat(40), event_delay_ms: 50 };
    const stream = await fetch(gateway.url + paths.messages, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${customer.key}` },
      body: JSON.stringify({
        ...bodies.messages({}, { messages: [{ role: "user", content: asking(slow) }] }),
        stream: true,
      }),
    });
    // The head has come, and two seconds of events follow.
    const id = stream.headers.get("x-request-id") ?? "";
    const mine = await get(gateway, `/v1/calls/${id}`, customer);
    t.strictSame([mine.status, mine.json.state], [202, "pending"]);
    t.equal(mine.headers.get("retry-after"), "1");
    t.equal((await get(gateway, `/v1/calls/${id}`, other)).status, 404);
    const shownNow = (await admin(gateway, "GET", `/calls/${id}`)).body;
    const { accountId: account_id, email } = customer;
    t.match(shownNow, { state: "in_flight", call_id: id, account_id, email });
    t.ok(Number(shownNow["held_vnd"]) > 0);
    await stream.text();
    t.equal((await shown(id)).is_equal, true);
  });

  t.test("is the cause of a call that the gateway refused", async (t) => {
    const wrong = await post(gateway, paths.messages, customer, { model: "claude-opus-5-5" });
    t.equal(wrong.status, 400);
    const id = wrong.headers.get("x-request-id") ?? "";
    let found: Record<string, unknown> = {};
    await until("the refusal is counted", async () => {
      found = (await admin(gateway, "GET", `/calls/${id}`)).body;
      return found["state"] === "refused";
    });
    const { accountId, email, keyId } = customer;
    t.match(found, { account_id: accountId, email, key_id: keyId, status: 400, cause: /./ });
    t.match((await cli("call", "show", "--call", id)).stdout, /"state":\s*"refused"/);
  });

  t.test("is pending, but visible, while the ledger does not accept the charge", async (t) => {
    const sql = postgres(gateway.ledger, { max: 1, onnotice: () => {} });
    let id = "";
    await sql.begin(async (lock) => {
      await lock`lock table usage_records in share row exclusive mode`;
      id = idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS)));
      const mine = await get(gateway, `/v1/calls/${id}`, customer);
      t.strictSame([mine.status, mine.json.state], [202, "pending"]);
      t.equal(mine.headers.get("retry-after"), "1");
      t.strictSame([mine.json.cost_vnd, mine.json.is_equal], ["50.25348", true]);
      t.equal((await get(gateway, `/v1/calls/${id}`, other)).status, 404);
      const found = (await admin(gateway, "GET", `/calls/${id}`)).body;
      t.strictSame([found["state"], found["upstream"]], ["pending", "anthropic"]);
    });
    await sql.end();
    t.equal((await shown(id)).is_equal, true);
  });

  t.test("is computed from the record alone, even after the price has changed", async (t) => {
    const id = idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS)));
    const earlier = await shown(id);
    const shipped = readFileSync(join(packageRoot, "config/catalogue.yaml"), "utf8");
    const dearer = shipped.replaceAll("price_vnd_per_mtok: 36000", "price_vnd_per_mtok: 20000");
    const catalogue = join(gateway.folder, "dearer.yaml");
    writeFileSync(catalogue, dearer);
    await reload(gateway, { config: { catalogue }, plugins: PROMOTED });
    const later = await shown(
      idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS))),
    );
    t.strictSame(await shown(id), earlier);
    t.equal(earlier.unit_price_vnd, "36000");
    t.equal(later.unit_price_vnd, "20000");
    t.ok(earlier.is_equal && later.is_equal);
    t.not(later.catalogue_version, earlier.catalogue_version);
    await reload(gateway, { plugins: PROMOTED });
    const again = await shown(
      idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS))),
    );
    t.equal(again.catalogue_version, earlier.catalogue_version);
  });

  t.test("states what was not charged, what was written off, and what is unknown", async (t) => {
    const poor = await createCustomer(gateway, { creditVnd: 100_000 });
    const failed = await post(
      gateway,
      paths.chat,
      poor,
      bodies.chat({ status: 500 }, { model: "req/gpt-4.1-nano" }),
    );
    t.not(failed.status, 200);
    const [record] = await billedCalls(gateway, poor, 1);
    const free = await shown(String(record?.["call_id"]));
    t.strictSame([free.cost_vnd, free.quantity, free.is_equal], ["0", 0, true]);
    const change = (set: string, id: string) =>
      withLedger(gateway, (sql) =>
        sql.query(`update usage_records set ${set} where call_id = $1`, [id]),
      );
    const id = idOf(await post(gateway, paths.messages, customer, bodies.messages(TOKENS)));
    await until("it is recorded", async () => (await shown(id)).state === "recorded");
    await change("charged = charged - 1000000, written_off = 1000000", id);
    const less = await shown(id);
    t.strictSame([less.cost_vnd, less.recomputed_vnd], ["49.25348", "49.25348"]);
    t.match(less.calculation.formula, /; less 1 đ written off = 49\.25348 đ$/);
    await change("charged = charged + 1", id);
    const wrong = await shown(id);
    t.strictSame([wrong.is_equal, wrong.recomputed_vnd], [false, "49.25348"]);
    t.equal((await cli("call", "show", "--call", id)).code, 1);
  });
});
