import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import { LedgerWentBack } from "../../../../core/money/ledger-history.ts";
import { OWN_LOCKS } from "../../../support/postgres.ts";
import { agreedBalance, charge, fundedAccount, type LedgerUnderTest, topUp } from "./fixtures.ts";

export function historyTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  const counts = () => ledger.history.confirmed.commits;

  /** The writer of the commits since `before`, which ran one after another, and its count. */
  const raised = (before: ReadonlyMap<string, number>) => {
    const [found, ...others] = [...counts()].filter(
      ([writer, count]) => count > (before.get(writer) ?? 0),
    );
    assert.ok(found && others.length === 0, "one writer has committed");
    return found;
  };

  /** Takes commits back, as the restore of a backup does. */
  const goBack = (writer: string, commits: number) =>
    sql.query("update ledger_writers set commits = commits - $2 where writer = $1", [
      writer,
      commits,
    ]);

  t.test("every commit of money is counted, with its transaction", async (t) => {
    const unfunded = counts();
    const a = await fundedAccount(ledger, 100n);
    const [writer, before] = raised(unfunded);
    await ledger.commit([charge(a, 10), charge(a, 5)]);
    await ledger.quarantine(charge(a, 1), "for a test");
    await ledger.credit(topUp(a, 1n));
    t.equal(counts().get(writer), before + 3);
    await assert.rejects(ledger.commit([charge(a, 1_000)]));
    const read = await ledger.history.read([]);
    t.equal(read.commits.get(writer), before + 3, "a refused commit is not counted");
    t.ok(read.recent.has(writer));
  });

  t.test("a ledger that lost commits of a gateway takes none under their count", async (t) => {
    const unfunded = counts();
    const a = await fundedAccount(ledger, 100n);
    const [writer, count] = raised(unfunded);
    await goBack(writer, 1);
    const entry = charge(a, 10);
    await assert.rejects(ledger.commit([entry]), LedgerWentBack);
    t.equal(await agreedBalance(ledger, a), 100n, "nothing was committed");
    await ledger.commit([entry]);
    t.equal(await agreedBalance(ledger, a), 90n, "the gateway goes on as a new writer");
    t.equal(ledger.history.confirmed.commits.get(writer), count);
    const read = await ledger.history.read([writer]);
    t.equal(read.commits.get(writer), count - 1, "the lost commit still shows");
  });

  t.test(
    "writers of long ago are forgotten, except this process's and those that a store keeps",
    async (t) => {
      const unfunded = counts();
      await fundedAccount(ledger, 100n);
      const [own] = raised(unfunded);
      const [kept, old, young] = [randomUUID(), randomUUID(), randomUUID()];
      await sql.query(
        `insert into ledger_writers (writer, commits, at)
      select writer, 7, now() - interval '1 day' * days from unnest($1::text::uuid[], '{91,91,89}'::integer[]) old (writer, days)`,
        [`{${kept},${old},${young}}`],
      );
      await sql.query(
        "update ledger_writers set at = now() - interval '2 years' where writer = $1",
        [own],
      );
      await sql.query("insert into ledger_writers (writer, commits) values ($1, 1)", [
        randomUUID(),
      ]);
      await ledger.history.forgetOld([kept]);
      const { commits, recent } = await ledger.history.read([own, kept, old, young]);
      t.strictSame(
        [own, kept, old, young].map((writer) => commits.has(writer)),
        [true, true, false, true],
      );
      t.ok(recent.has(own), "no other process takes it for old");
    },
  );

  t.test("a commit that waits for the begin of a generation is of this one", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const beginning = sql.script(`select begin_generation(0);
      do $$ begin
        while not exists (
          select from ${OWN_LOCKS} where relation = 'ledger_writers'::regclass and not granted
        ) loop end loop;
      end $$`);
    const held = `select from ${OWN_LOCKS} where relation = 'ledger_writers'::regclass and granted`;
    while ((await sql.query(`${held} and mode = 'ShareLock'`)).length === 0);
    await ledger.commit([charge(a, 10)]);
    await beginning;
    const { generation } = await ledger.history.read([]);
    t.equal(ledger.history.confirmed.generation, generation);
  });

  t.test("a generation is above every known one", async (t) => {
    const { generation } = await ledger.history.read([]);
    await ledger.history.beginGeneration(generation + 5);
    t.equal((await ledger.history.read([])).generation, generation + 6);
    await ledger.history.beginGeneration(0);
    t.match(await ledger.history.read([]), { generation: generation + 7 });
    await fundedAccount(ledger, 1n);
    t.equal(ledger.history.confirmed.generation, generation + 7, "a commit says in which it is");
    ledger.history.enter(generation + 8);
    t.equal(counts().size, 0);
    await ledger.history.beginGeneration(0);
    await fundedAccount(ledger, 1n);
    t.strictSame([...counts().values()], [1], "a new writer begins at one");
  });
}
