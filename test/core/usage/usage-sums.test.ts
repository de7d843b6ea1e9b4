import t from "tap";
import type { Database } from "../../../core/database/database.ts";
import type { UsageDimension } from "../../../core/usage/books.ts";
import { usageSumsOf } from "../../../core/usage/usage-sums.ts";

/** The most rows that a reply has. */
const MOST = 12_000;
const AMOUNTS = { calls: 1, inputTokens: 2, outputTokens: 3, chargedMicroVnd: 4n };

type Row = Partial<Record<UsageDimension, string>>;

/** Sums the rows that the database returns after the total of all. */
function sumsOf(rows: readonly Row[], by: readonly UsageDimension[] = ["day"]) {
  const total = { ...AMOUNTS, calls: 99, isTotal: true };
  const query = async () => [total, ...rows.map((row) => ({ ...row, ...AMOUNTS, isTotal: false }))];
  return usageSumsOf({ query } as unknown as Database).sums("A", by, {});
}

/** Rows of so many models a day, the newest first, as the database returns them. */
function days(...models: readonly [day: string, count: number][]): Row[] {
  return models.flatMap(([day, count]) =>
    Array.from({ length: count }, (_, at) => ({ day, model: `m${at}` })),
  );
}

t.test("the sums of days come oldest first, and others as the database orders them", async (t) => {
  const rows = days(["2026-03-02", 1], ["2026-03-01", 1]);
  const { sums, total, isCut } = await sumsOf(rows);
  t.strictSame(
    sums.map(({ day }) => day),
    ["2026-03-01", "2026-03-02"],
  );
  t.notOk("isTotal" in (sums[0] ?? {}));
  t.strictSame(total, { ...AMOUNTS, calls: 99 });
  t.equal(isCut, false);
  const byModel = await sumsOf([{ model: "dear" }, { model: "cheap" }], ["model"]);
  t.strictSame(
    byModel.sums.map(({ model }) => model),
    ["dear", "cheap"],
  );
});

t.test("more than 12,000 sums lose the oldest day, of which some are missing", async (t) => {
  const by = ["day", "model"] as const;
  const most = await sumsOf(days(["2026-03-02", MOST - 1], ["2026-03-01", 1]), by);
  t.strictSame([most.sums.length, most.isCut], [MOST, false]);
  const cut = await sumsOf(days(["2026-03-02", MOST - 10], ["2026-03-01", 11]), by);
  t.strictSame([cut.sums.length, cut.isCut], [MOST - 10, true]);
  t.notOk(cut.sums.some(({ day }) => day === "2026-03-01"));
  t.equal(cut.total.calls, 99, "the total has all of them");
});

t.test("more than 12,000 sums of one day, or of models, lose only the last", async (t) => {
  const rows = days(["2026-03-01", MOST + 1]);
  const { sums, isCut } = await sumsOf(rows, ["day", "model"]);
  t.strictSame([sums.length, isCut], [MOST, true]);
  t.notOk(sums.some(({ model }) => model === `m${MOST}`));
  const models = rows.map(({ model = "" }) => ({ model }));
  const byModel = await sumsOf(models, ["model"]);
  t.strictSame([byModel.sums.length, byModel.isCut], [MOST, true]);
  t.equal(byModel.sums.at(-1)?.model, `m${MOST - 1}`);
});

t.test("a reply without the sum of all usage is refused", async (t) => {
  for (const rows of [[], [{ ...AMOUNTS, isTotal: false }]]) {
    const query = async () => rows;
    const sums = usageSumsOf({ query } as unknown as Database).sums("A", ["day"], {});
    await t.rejects(sums, /the sum of all usage is missing/);
  }
});
