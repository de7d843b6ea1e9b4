import t from "tap";
import type { Database } from "../../../core/database/database.ts";
import { newId } from "../../../core/process/id.ts";
import type { UsageFilter } from "../../../core/usage/books.ts";
import { refusedCalls } from "../../../core/usage/refused-calls.ts";
import { archivedBefore, archivedCall } from "../../../core/usage/usage-books.ts";
import { callOf, callPage } from "../../../core/usage/usage-records.ts";

interface Asked {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** A database that returns these rows, statement by statement, and keeps what it was asked. */
function databaseOf(...replies: readonly object[][]) {
  const asked: Asked[] = [];
  const query = async (text: string, parameters: readonly unknown[] = []) => {
    asked.push({ text: text.replace(/\s+/g, " "), parameters });
    return replies[asked.length - 1] ?? [];
  };
  return { database: { query } as unknown as Database, asked };
}

const day = (of: number, hour = 17) => new Date(Date.UTC(2026, 2, of, hour));

t.test("a page by one of model and key is read by the index that begins with it", async (t) => {
  for (const [filter, condition, order] of [
    [
      { model: "m" },
      "account_id = (select $1::uuid) and model = any (array[(select $3::text)])",
      "model",
    ],
    [{ key: "k" }, "key_id = any (array[(select $3::uuid)])", "key_id"],
  ] as const) {
    const { database, asked } = databaseOf();
    await callPage(database, { accountId: "A", filter, limit: 7 });
    t.equal(asked.length, 1);
    const text = asked[0]?.text ?? "";
    t.ok(
      text.includes(`select at from usage_records record where ${condition} order by ${order},`),
    );
    t.ok(text.includes(`select * from usage_records record where ${condition} and at >= (select`));
    t.ok(text.includes(") record where account_id = $1"));
  }
});

t.test("a page of calls that succeeded, failed, or ended with one status", async (t) => {
  const ok = databaseOf();
  await callPage(ok.database, { accountId: "A", filter: { status: "ok" }, limit: 7 });
  t.match(ok.asked[0]?.text, /\(record.status = 200\) is true order by account_id, at desc/);
  const one = databaseOf();
  await callPage(one.database, { accountId: "A", filter: { status: 429 }, limit: 7 });
  t.match(one.asked[0]?.text, /record.status = any \(array\[429::smallint\]\)/);
  const failed = databaseOf([{ status: 400 }, { status: 502 }]);
  await callPage(failed.database, { accountId: "A", filter: { status: "failed" }, limit: 7 });
  const text = failed.asked[1]?.text ?? "";
  t.match(text, /array\[400::smallint\].* union all .*array\[502::smallint\]/);
  const none = databaseOf([]);
  const filter = { status: "failed" } as const;
  t.strictSame(await callPage(none.database, { accountId: "A", filter, limit: 7 }), []);
  t.equal(none.asked.length, 1, "no call of any account failed");
});

t.test("a call is shown to its own account, with the fields that customers may see", async (t) => {
  const callId = newId(day(3).getTime());
  const record = { callId, accountId: "A", unit: "call", upstream: "main", status: 200 };
  const read = (accountId: string) =>
    callOf(databaseOf([record]).database, accountId, callId, undefined);
  t.match(await read("A"), { callId, status: 200 });
  t.notOk("upstream" in ((await read("A")) ?? {}));
  t.equal(await read("B"), undefined);
  t.equal(await callOf(databaseOf([]).database, "A", callId, undefined), undefined);
});

t.test("archived months are looked for in a period, and on its days in Vietnam", async (t) => {
  const end = day(1, 0);
  const table: [Pick<UsageFilter, "from" | "to">, unknown[]][] = [
    [{ from: day(2), to: day(4) }, [day(2), day(4), "2026-03-03", "2026-03-04"]],
    [{}, [new Date(0), new Date(Date.UTC(2200, 0)), "1970-01-01", "2200-01-01"]],
  ];
  for (const [period, expected] of table) {
    const { database, asked } = databaseOf([{ end }]);
    t.equal(await archivedBefore(database, "A", period), end);
    t.strictSame(asked[0]?.parameters, ["A", ...expected]);
  }
  t.equal(await archivedBefore(databaseOf([{ end: null }]).database, "A", {}), undefined);
  t.equal(await archivedBefore(databaseOf([]).database, "A", {}), undefined);
});

t.test("a call may be archived if its id is of an archived day", async (t) => {
  const end = day(1, 0);
  const at = day(3);
  const { database, asked } = databaseOf([{ end }]);
  t.equal(await archivedCall(database, "A", newId(at.getTime())), end);
  const next = new Date(at.getTime() + 1);
  t.strictSame(asked[0]?.parameters, ["A", at, next, "2026-03-04", "2026-03-04"]);
  for (const id of ["x", newId(Date.UTC(2200, 0)), "ffffffff-ffff-7fff-8fff-ffffffffffff"]) {
    const none = databaseOf([{ end }]);
    t.equal(await archivedCall(none.database, "A", id), undefined, id);
    t.equal(none.asked.length, 0, "Postgres may refuse such a time");
  }
  const last = databaseOf([{ end }]);
  t.equal(await archivedCall(last.database, "A", newId(Date.UTC(2200, 0) - 1)), end);
});

t.test("refused calls are read by days and key, and the last of them newest first", async (t) => {
  const plain = databaseOf([{ calls: 3 }], []);
  t.strictSame(await refusedCalls(plain.database, "A", {}), { counts: [{ calls: 3 }], last: [] });
  t.strictSame(
    plain.asked.map(({ parameters }) => parameters),
    [["A"], ["A"]],
  );
  const times = [day(3), day(5), day(4)];
  const calls = times.map((at) => ({ at: at.toISOString(), status: 402, keyId: "k" }));
  const { database, asked } = databaseOf([], [{ calls }]);
  const { last } = await refusedCalls(database, "A", { from: day(2), to: day(4), key: "k" });
  t.strictSame(asked[0]?.parameters, ["A", "2026-03-03", "2026-03-04", "k"]);
  t.match(
    asked[0]?.text,
    /where account_id = \$1 and day >= \$2 and day <= \$3 and key_id = \$4 order/,
  );
  const timesOf = (calls: readonly { readonly at: Date }[]) => calls.map(({ at }) => at);
  t.strictSame(timesOf(last), [day(3)]);
  const all = await refusedCalls(databaseOf([], [{ calls }]).database, "A", {});
  t.strictSame(timesOf(all.last), [day(5), day(4), day(3)]);
});
