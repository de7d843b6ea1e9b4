import assert from "node:assert/strict";
import t from "tap";
import { newId } from "../../../core/process/id.ts";
import { archiveMonth, closeMonth } from "../../support/archived-month.ts";
import { ALICE, BOB, record, startUsageWorld } from "./usage-fixtures.ts";

const MARCH = Date.UTC(2026, 2, 10);
const APRIL = Date.UTC(2026, 3, 10);
const END = "2026-04-01T00:00:00.000Z";

t.test("usage of archived months", async (t) => {
  const world = await startUsageWorld();
  await record(world.sql, { atMs: MARCH });
  await record(world.sql, { atMs: MARCH + 1 });
  const april = await record(world.sql, { atMs: APRIL });
  await record(world.sql, { atMs: APRIL, accountId: BOB });
  await closeMonth(world.gateway, "2026-03");
  t.teardown(() => world.close());

  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects.
  async function json(path: string, query: Record<string, string> = {}, who = ALICE): Promise<any> {
    const response = await world.as(who, path, query);
    assert.equal(response.status, 200);
    return response.json();
  }

  t.test("a month that is only closed is still listed, so nothing is said", async (t) => {
    const { data, archived_before: before } = await json("/usage");
    t.strictSame([data.length, before], [3, null]);
  });

  t.test("a list that reaches into them says which calls it lacks", async (t) => {
    await archiveMonth(world.gateway, "2026-03");
    const page = await json("/usage");
    t.strictSame(
      page.data.map((call: { call_id: string }) => call.call_id),
      [april],
    );
    for (const [query, expected] of [
      [{}, END],
      [{ from: "2026-03-10", to: "2026-03-10" }, END],
      [{ from: "2026-03-01T00:00:00Z", to: "2026-06-01" }, END],
      [{ from: "2026-04-01T00:00:00Z" }, null],
      [{ from: "2026-04-02" }, null],
      [{ to: "2026-02-27" }, null],
      [{ from: "2026-03-20", to: "2026-04-20" }, null],
    ] as const) {
      const { archived_before: before } = await json("/usage", query);
      t.equal(before, expected, JSON.stringify(query));
    }
    const { archived_before: before } = await json("/usage", {}, BOB);
    t.equal(before, null, "an account without calls in these months lacks none");
  });

  t.test("a call of their days is said to be archived, another is not there", async (t) => {
    for (const [who, at, code] of [
      [ALICE, MARCH, "call_archived"],
      [ALICE, MARCH - 5 * 86_400_000, null],
      [BOB, MARCH, null],
      [ALICE, Date.UTC(9_999, 0), null],
    ] as const) {
      const response = await world.as(who, `/calls/${newId(at)}`);
      t.equal(response.status, 404);
      t.equal((await response.json()).error.code, code);
    }
  });

  t.test("totals have them", async (t) => {
    const { data, total } = await json("/usage/summary", { by: "day", to: "2026-12-31" });
    t.strictSame(
      data.map((sum: { day: string; calls: number }) => [sum.day, sum.calls]),
      [
        ["2026-03-10", 2],
        ["2026-04-10", 1],
      ],
    );
    t.strictSame([total.calls, total.cost_vnd], [3, "108"]);
  });

  t.test("an export says in its headers which calls it lacks", async (t) => {
    const whole = await world.as(ALICE, "/usage.csv");
    t.equal(whole.headers.get("x-archived-before"), END);
    t.equal((await whole.text()).trimEnd().split("\r\n").length, 2);
    const later = await world.as(ALICE, "/usage.csv", { from: "2026-04-02" });
    t.equal(later.headers.get("x-archived-before"), null);
    await later.text();
  });
});
