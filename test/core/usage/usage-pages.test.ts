import t from "tap";
import type { Database } from "../../../core/database/database.ts";
import { newId } from "../../../core/process/id.ts";
import type { UsageFilter } from "../../../core/usage/books.ts";
import { archivedBefore, archivedCall } from "../../../core/usage/usage-books.ts";
import { callPage } from "../../../core/usage/usage-records.ts";

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

t.test("a page of failed calls is empty if no call of any account failed", async (t) => {
  const { database, asked } = databaseOf([]);
  const filter = { status: "failed" } as const;
  t.strictSame(await callPage(database, { accountId: "A", filter, limit: 7 }), []);
  t.equal(asked.length, 1);
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
