import assert from "node:assert/strict";
import t from "tap";
import { discountBpsAt } from "../../../core/catalogue/discount.ts";
import { dayOf, endOfDay } from "../../../core/process/vietnam-day.ts";
import { admin, createCustomer, credit } from "../../support/admin.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { startTestSimulator } from "../../support/simulator.ts";
import { until } from "../../support/until.ts";
import { bootTopups } from "./in-process.ts";
import { as, notify, order, transfer } from "./topups.ts";

const DAY_MS = 86_400_000;

t.test("discounts add up while they last, to 100% at most", async (t) => {
  const earned = [
    { name: "lifetime", bps: 100, untilMs: Number.POSITIVE_INFINITY },
    { name: "daily", bps: 50, untilMs: 1_000 },
  ];
  t.equal(discountBpsAt(7, [], 0), 7);
  t.equal(discountBpsAt(7, earned, 999), 157);
  t.equal(discountBpsAt(7, earned, 1_000), 107);
  t.equal(discountBpsAt(9_999, earned, 0), 10_000);
});

t.test("discounts", async (t) => {
  const simulator = await startTestSimulator();
  const gateway = await bootTopups({ promotions: { counted: "all" } }, simulator.port);
  t.teardown(async () => {
    await gateway?.close();
    await simulator?.stop();
  });

  /** Makes a call and returns the discount that it was charged with. */
  async function discountOf(caller: { key: string; accountId: string }): Promise<unknown> {
    const body = bodies.messages({ output_tokens: 1 });
    const { status, headers } = await post(gateway, paths.messages, caller, body);
    assert.equal(status, 200);
    let record: Record<string, unknown> | undefined;
    await until("the call is recorded", async () => {
      const { body: list } = await admin(gateway, "GET", `/accounts/${caller.accountId}/usage`);
      const records = Array.isArray(list["list"]) ? list["list"] : [];
      record = records.find((one) => one["call_id"] === headers.get("x-request-id"));
      return record !== undefined;
    });
    return record?.["discount_bps"];
  }

  /** The end of the day on which the database counts a credit made now. */
  async function today(): Promise<number> {
    const [row] = await gateway.gateway.services.database.query<{ now: Date }>("select now()");
    return endOfDay(dayOf(row?.now ?? new Date(0))).getTime();
  }

  t.test("give 1% on a day with 100,000 đ, until midnight, also for a cached key", async (t) => {
    gateway.clock.offsetMs = 0;
    const caller = await createCustomer(gateway, { creditVnd: 99_999 });
    t.equal(await discountOf(caller), 0);
    await credit(gateway, caller.accountId, 1);
    t.equal(await discountOf(caller), 100);
    const end = await today();
    gateway.clock.set(end - 60_000);
    t.equal(await discountOf(caller), 100);
    const before = (await as(gateway, caller.accountId, "GET", "/promotions")).body;
    t.strictSame(before, {
      discount_bps: 100,
      account_bps: 0,
      lifetime: {
        threshold_vnd: "10000000",
        total_vnd: "100000",
        discount_bps: 100,
        active: false,
      },
      daily: {
        threshold_vnd: "100000",
        today_vnd: "100000",
        discount_bps: 100,
        active: true,
        until: new Date(end).toISOString(),
      },
    });
    const shown = await admin(gateway, "GET", `/accounts/${caller.accountId}`);
    const until = new Date(end).toISOString();
    t.strictSame(shown.body["discounts"], [{ name: "daily", bps: 100, until }]);
    gateway.clock.set(end);
    t.equal(await discountOf(caller), 0);
    const { body: after } = await as(gateway, caller.accountId, "GET", "/promotions");
    t.strictSame(after["daily"], {
      threshold_vnd: "100000",
      today_vnd: "0",
      discount_bps: 100,
      active: false,
      until: new Date(end + DAY_MS).toISOString(),
    });
  });

  t.test("give 1% permanently from 10,000,000 đ in total, and add both on one day", async (t) => {
    gateway.clock.offsetMs = 0;
    const caller = await createCustomer(gateway, { creditVnd: 9_999_999 });
    t.equal(await discountOf(caller), 100);
    const { code } = await order(gateway, caller.accountId, 50_000);
    await notify(gateway, transfer({ content: code, transferAmount: 1 }));
    t.equal(await discountOf(caller), 200);
    gateway.clock.set((await today()) + 400 * DAY_MS);
    t.equal(await discountOf(caller), 100);
  });

  t.test("add to the account's own discount", async (t) => {
    gateway.clock.offsetMs = 0;
    const caller = await createCustomer(gateway, { creditVnd: 10_000_000 });
    const path = `/accounts/${caller.accountId}/discount`;
    const set = await admin(gateway, "POST", path, { discount_bps: 500, reason: "a friend" });
    t.equal(set.status, 200, JSON.stringify(set.body));
    t.equal(await discountOf(caller), 700);
    const { body } = await as(gateway, caller.accountId, "GET", "/promotions");
    t.equal(body["discount_bps"], 700);
  });

  t.test("ignore debits, and can leave out credits by operators", async (t) => {
    gateway.clock.offsetMs = 0;
    const caller = await createCustomer(gateway, { creditVnd: 100_000 });
    const path = `/accounts/${caller.accountId}/credits`;
    const taken = { amount_vnd: -50_000, reference: `away-${caller.keyId}`, reason: "a mistake" };
    t.equal((await admin(gateway, "POST", path, taken)).status, 200);
    t.equal(await discountOf(caller), 100);

    const strict = await bootTopups({ promotions: { counted: "transfers" } }, simulator.port);
    try {
      const { accountId } = await createCustomer(strict, { creditVnd: 20_000_000 });
      const before = (await as(strict, accountId, "GET", "/promotions")).body;
      t.equal(before["discount_bps"], 0);
      const { code } = await order(strict, accountId);
      await notify(strict, transfer({ content: code }));
      const { body } = await as(strict, accountId, "GET", "/promotions");
      t.equal(body["discount_bps"], 100);
    } finally {
      await strict.close();
    }
  });
});
