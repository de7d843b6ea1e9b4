import assert from "node:assert/strict";
import t from "tap";
import { newId } from "../../../core/process/id.ts";
import { ALICE, BOB, record, startUsageWorld } from "./usage-fixtures.ts";

const VND = 1_000_000;

interface Row {
  readonly day: string;
  readonly kind: string;
  readonly reason: string | null;
  readonly calls: number;
  readonly amount_vnd: string;
  readonly balance_vnd: string;
}

t.test("the money of a customer", async (t) => {
  const world = await startUsageWorld();
  let balance = 0;
  const move = async (
    at: string,
    kind: string,
    vnd: number,
    reference: string,
    reason?: string,
  ) => {
    balance += vnd * VND;
    await world.sql`
      insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference, reason, at)
      values (${ALICE}, ${kind}, ${vnd * VND}, ${balance}, ${reference}, ${reason ?? null}, ${at})`;
  };
  const call = (at: string, charged: number, accountId = ALICE) =>
    record(world.sql, { atMs: Date.parse(at), charged, accountId });
  // In Vietnam October ends at 17:00 UTC.
  await move("2026-10-31T16:59:59.999Z", "topup", 100, "transfer:1", "TG12AB");
  await call("2026-10-31T16:59:59.999Z", 10 * VND);
  await move("2026-10-31T17:00:00Z", "topup", 50, "transfer:2");
  await move("2026-11-01T16:00:00Z", "topup", 7, "cash 1");
  await call("2026-10-31T17:00:00Z", 15 * VND);
  await call("2026-11-01T09:00:00Z", 15 * VND);
  await call("2026-11-01T09:00:01Z", 0);
  await move("2026-11-10T09:00:00Z", "adjustment", 3, "refund 1", "a call went wrong");
  await move("2026-11-10T08:00:00Z", "adjustment", -4, "correction 1", "paid twice");
  await call("2026-11-30T16:59:59.999Z", 1);
  await call("2026-11-30T17:00:00Z", 5 * VND);
  await call("2026-11-15T09:00:00Z", 8 * VND, BOB);
  t.teardown(() => world.close());

  async function month(month: string, who = ALICE) {
    const response = await world.as(who, "/money", { month });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const found = JSON.parse(text);
    const shown = (found.rows as Row[]).map(
      ({ day, kind, reason, calls, amount_vnd, balance_vnd }) =>
        [day, kind, amount_vnd, balance_vnd, reason ?? calls].join(" "),
    );
    return { ...found, rows: shown };
  }

  t.test("is every movement and the charges of each day, with the balance after it", async (t) => {
    t.strictSame(await month("2026-11"), {
      opening_vnd: "90",
      closing_vnd: "115.999999",
      rows: [
        "2026-11-01 transfer 50 140 0",
        "2026-11-01 credit 7 147 0",
        "2026-11-01 charges -30 117 3",
        "2026-11-10 adjustment 3 120 a call went wrong",
        "2026-11-10 adjustment -4 116 paid twice",
        "2026-11-30 charges -0.000001 115.999999 1",
      ],
      cut: false,
    });
  });

  t.test("closes with what the next month opens with", async (t) => {
    t.strictSame(await month("2026-10"), {
      opening_vnd: "0",
      closing_vnd: "90",
      rows: ["2026-10-31 transfer 100 100 TG12AB", "2026-10-31 charges -10 90 1"],
      cut: false,
    });
    t.equal((await month("2026-12")).opening_vnd, "115.999999");
    t.equal((await month("2026-12")).closing_vnd, "110.999999");
    const none = { opening_vnd: "110.999999", closing_vnd: "110.999999", rows: [], cut: false };
    t.strictSame(await month("2027-01"), none);
  });

  t.test("is the same in a CSV file", async (t) => {
    const csv = async (decimal: string) =>
      (await (await world.as(ALICE, "/money.csv", { month: "2026-11", decimal })).text()).split(
        "\r\n",
      );
    const [head, opening, ...rows] = await csv("point");
    t.equal(head, "day,time_vietnam,kind,reason,calls,amount_vnd,balance_vnd");
    t.equal(opening, "2026-11-01,,opening,,,,90");
    t.equal(rows[0], "2026-11-01,2026-11-01 00:00:00,transfer,,,50,140");
    t.equal(rows[2], "2026-11-01,,charges,,3,-30,117");
    t.equal(rows.length, 7);
    t.equal((await csv("comma"))[7], "2026-11-30;;charges;;1;-0,000001;115,999999");
  });

  t.test(
    "begins with the oldest movement that it lists if there are more than 5,000",
    async (t) => {
      const carol = newId(0);
      await world.sql`insert into accounts (id, email) values (${carol}, 'carol@example.com')`;
      await world.sql`
      insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference, at)
      select ${carol}, 'topup', 1000000, n * 1000000::bigint, 'carol ' || n, 
        '2026-11-01T05:00:00Z'::timestamptz + case when n > 1 then interval '1 day' + n * interval '4 minutes' else interval '0' end
      from generate_series(1, 5002) n`;
      for (const day of ["01", "03", "15"])
        await record(world.sql, {
          atMs: Date.parse(`2026-11-${day}T09:00:00Z`),
          charged: VND,
          accountId: carol,
        });
      const { rows, cut } = await month("2026-11", carol);
      t.equal(cut, true);
      t.equal(rows.length, 5_002);
      t.equal(rows[0], "2026-11-02 credit 1 2 0");
      const csv = await world.as(carol, "/money.csv", { month: "2026-11" });
      t.equal(csv.headers.get("x-cut"), "true");
      const whole = await world.as(ALICE, "/money.csv", { month: "2026-11" });
      t.equal(whole.headers.get("x-cut"), null);
    },
  );

  t.test("is visible to its own account only, and asks for a month", async (t) => {
    t.strictSame((await month("2026-11", BOB)).rows, ["2026-11-15 charges -8 -8 1"]);
    t.equal((await world.as(undefined, "/money", { month: "2026-11" })).status, 401);
    for (const query of [{}, { month: "2026-13" }, { month: "1" }, { month: "2026-11", x: "1" }]) {
      t.equal((await world.as(ALICE, "/money", query as Record<string, string>)).status, 400);
    }
  });
});
