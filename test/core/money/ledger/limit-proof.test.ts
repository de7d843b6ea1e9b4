import t from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { LedgerProof } from "../../../../core/money/ledger/proof.ts";
import { newId } from "../../../../core/process/id.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { migrateUpTo } from "../../../support/migrations.ts";
import { archive } from "./archive-steps.ts";
import { charge, fundedAccount, proveFromStart } from "./fixtures.ts";
import { startTestLedger, type TestLedger } from "./test-ledger.ts";

/** The last migration before charges named their limits. */
const BEFORE = "0022";
const JANUARY = Date.UTC(2026, 0, 31, 23, 59, 59, 999);

t.test("limits are proven from the rows of the ledger", async (t) => {
  let books: TestLedger;
  let sql: Sql;
  let ledger: PostgresLedger;

  t.beforeEach(async () => {
    books = await startTestLedger(4);
    ({ ledger, sql } = books);
  });
  t.afterEach(async () => {
    await books.stop();
  });

  async function limited(...names: string[]): Promise<string> {
    const accountId = await fundedAccount(ledger, 10_000n);
    for (const name of names) {
      const change = { accountId, name, kind: "set", amountMicroVnd: 1_000n } as const;
      await ledger.changeLimit({ ...change, reference: newId(JANUARY), reason: null });
    }
    return accountId;
  }

  /** Returns `name 970` for each limit: what is left by its charges. Fails if the stored rest is another. */
  async function left(): Promise<string> {
    const found: string[] = [];
    for await (const sum of ledger.sums()) {
      if (sum.limit === null) continue;
      t.equal(sum.entriesMicroVnd, sum.balanceMicroVnd, `${sum.limit} drifts`);
      t.strictSame(await ledger.sum(sum.accountId, sum.limit), sum);
      found.push(`${sum.limit} ${sum.entriesMicroVnd}`);
    }
    return found.join(", ");
  }

  async function proveAll(proof: LedgerProof): Promise<string[]> {
    const days: string[] = [];
    for (;;) {
      const progress = await proof.advance();
      if (progress.isDone) return days;
      if (progress.recordsUntil !== undefined) days.push(progress.recordsUntil);
    }
  }

  function call(accountId: string, amount: number, at: number, limits?: string[]) {
    return charge(accountId, amount, { callId: newId(at), at, ...(limits && { limits }) });
  }

  /** Commits 25 calls, each in another order of its id, time and row, and two of them with both limits. */
  async function commitSome(accountId: string): Promise<void> {
    const batch = Array.from({ length: 25 }, (_, n) =>
      call(
        accountId,
        n + 1,
        JANUARY + (n % 5) * 86_400_000,
        n % 2 ? ["a"] : n < 4 ? ["a", "b"] : undefined,
      ),
    );
    for (const entry of batch) await ledger.commit([entry]);
    await ledger.commit(batch);
  }

  t.test("page by page, each row once, by two at the same time", async (t) => {
    await ledger.start();
    const a = await limited("a", "b");
    await commitSome(a);
    t.equal(await left(), "a 840, b 996");
    await new LedgerProof(sql).restart();
    const provers = [1, 2, 3].map(() => new LedgerProof(sql, systemMachine, 3));
    await Promise.all(provers.map(proveAll));
    t.equal(await left(), "a 840, b 996");
    await sql.query("update usage_records set charged = 0");
    t.equal(await left(), "a 840, b 996", "no record is read");
  });

  t.test("and from the records of before charges named them, in pages", async (t) => {
    await migrateUpTo(sql, BEFORE);
    await sql.query("select make_usage_partition($1::timestamptz)", ["2026-01-31Z"]);
    const a = await limited("a", "b");
    await commitSome(a);
    await migrateUpTo(sql, "9999");
    await ledger.commit([call(a, 40, JANUARY, ["a"]), call(a, 5, JANUARY + 86_400_000)]);
    const proof = new LedgerProof(sql, systemMachine, 4);
    await proof.advance();
    t.equal((await ledger.sum(a, "a"))?.entriesMicroVnd, 800n);
    for (let isDone = false; !isDone; ) {
      ({ isDone } = await proof.advance());
      t.equal((await ledger.sum(a, "a"))?.entriesMicroVnd, 800n);
    }
    t.equal(await left(), "a 800, b 996");
    const found = await sql.query("select account_id, name, charged from proven_limits order by 2");
    t.strictSame(found, [
      { account_id: a, name: "a", charged: 200n },
      { account_id: a, name: "b", charged: 4n },
    ]);
    await ledger.commit([call(a, 100, JANUARY, ["b"])]);
    t.equal(await left(), "a 800, b 896");
    await proof.restart();
    t.ok((await proveAll(proof)).length > 5, "a full proof reads them again");
    t.equal(await left(), "a 800, b 896");
  });

  t.test("and from a commit that began before the migration and ended after it", async (t) => {
    await migrateUpTo(sql, BEFORE);
    await sql.query("select make_usage_partition($1::timestamptz)", ["2026-01-31Z"]);
    const a = await limited("a");
    const gate = sql.script(`
      select from wallets where account_id = '${a}' for update;
      do $$ begin
        while not exists (select from pg_class where relname = 'gate_is_open') loop end loop;
      end $$`);
    const waiting = (what: string) => `select from pg_stat_activity where ${what}`;
    while (
      (
        await sql.query(
          waiting(
            "query like '%for update;%gate_is_open%' and state = 'active' and backend_xid is not null",
          ),
        )
      ).length < 1
    );
    const entry = call(a, 30, JANUARY, ["a"]);
    const settled = sql.query(
      "select settle_calls($1::text::uuid[], $2::text::uuid[], $3::text::json)",
      [...[`{${a}}`, `{${entry.posting.callId}}`, `[${entry.text}]`]],
    );
    while (
      (await sql.query(waiting("query like '%settle_calls($1%' and wait_event_type = 'Lock'")))
        .length < 1
    );
    await migrateUpTo(sql, "9999");
    const impatient = { ...systemMachine, monotonic: () => performance.now() * 1_000_000 };
    t.equal((await new LedgerProof(sql, impatient).advance()).isDone, true);
    await sql.query("create table gate_is_open ()");
    await Promise.all([gate, settled]);
    const found = await sql.query("select charge_names_limits as named from usage_records");
    t.strictSame(found, [{ named: null }], "it is of the old kind");
    t.equal((await ledger.sum(a, "a"))?.entriesMicroVnd, 970n);
    await proveAll(new LedgerProof(sql));
    t.equal(await left(), "a 970");
  });

  t.test("after a month of both kinds was archived", async (t) => {
    await migrateUpTo(sql, BEFORE);
    await sql.query("select make_usage_partition($1::timestamptz)", ["2026-01-31Z"]);
    const a = await limited("a");
    const early = call(a, 10, JANUARY, ["a"]);
    await ledger.commit([early, call(a, 300, JANUARY + 1, ["a"])]);
    await migrateUpTo(sql, "9999");
    // Their rows and records are in different months.
    const crossing = charge(a, 20, { callId: newId(JANUARY), at: JANUARY + 1, limits: ["a"] });
    await ledger.commit([crossing, call(a, 4, JANUARY, ["a"])]);
    t.equal(await archiveOf(sql).close("2026-01"), "unproven");
    t.strictSame(await archive(sql, ledger, "2026-01"), ["closed", "detached", "dropped"]);
    t.equal(await left(), "a 666");
    await ledger.commit([call(a, 1, JANUARY + 2, ["a"])]);
    await proveFromStart(ledger);
    t.equal(await left(), "a 665");
    while (!(await ledger.prove()).isDone);
    t.equal(await left(), "a 665");
  });
});
