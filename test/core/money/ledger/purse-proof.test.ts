import t from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { LedgerProof } from "../../../../core/money/ledger/proof.ts";
import { newId } from "../../../../core/process/id.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { archive } from "./archive-steps.ts";
import { charge, fundedAccount, proveFromStart } from "./fixtures.ts";
import { startTestLedger, type TestLedger } from "./test-ledger.ts";

const JANUARY = Date.UTC(2026, 0, 31, 23, 59, 59, 999);

t.test("purses are proven from the rows of the ledger", async (t) => {
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

  /** Returns `name 970` for each purse: what was charged. Fails if what is stored is another. */
  async function spent(): Promise<string> {
    const found: string[] = [];
    for await (const sum of ledger.sums()) {
      if (sum.purse === null) continue;
      t.equal(sum.entriesMicroVnd, sum.balanceMicroVnd, `${sum.purse} drifts`);
      t.strictSame(await ledger.sum(sum.accountId, sum.purse), sum);
      found.push(`${sum.purse} ${-sum.entriesMicroVnd}`);
    }
    return found.join(", ");
  }

  async function proveAll(proof: LedgerProof): Promise<void> {
    while (!(await proof.advance()).isDone);
  }

  function call(accountId: string, amount: number, at: number, purses?: string[]) {
    return charge(accountId, amount, { callId: newId(at), at, ...(purses && { purses }) });
  }

  /** Commits 25 calls, each in another order of its id, time and row, and two of them with both purses. */
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
    const a = await fundedAccount(ledger, 10_000n);
    await commitSome(a);
    t.equal(await spent(), "a 160, b 4");
    await new LedgerProof(sql).restart();
    const provers = [1, 2, 3].map(() => new LedgerProof(sql, systemMachine, 3));
    await Promise.all(provers.map(proveAll));
    t.equal(await spent(), "a 160, b 4");
    await sql.query("update usage_records set charged = 0");
    t.equal(await spent(), "a 160, b 4", "no record is read");
  });

  t.test("in pages, and a sum is right between any two of them", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 10_000n);
    await commitSome(a);
    const proof = new LedgerProof(sql, systemMachine, 4);
    for (let pages = 1, isDone = false; !isDone; pages += 1) {
      ({ isDone } = await proof.advance());
      t.equal((await ledger.sum(a, "a"))?.entriesMicroVnd, -160n);
      if (isDone) t.ok(pages > 5, `${pages} pages`);
    }
    const found = await sql.query("select account_id, name, charged from proven_purses order by 2");
    t.strictSame(found, [
      { account_id: a, name: "a", charged: 160n },
      { account_id: a, name: "b", charged: 4n },
    ]);
    await ledger.commit([call(a, 100, JANUARY, ["b"])]);
    t.equal(await spent(), "a 160, b 104");
    await proof.restart();
    await proveAll(proof);
    t.equal(await spent(), "a 160, b 104");
  });

  t.test("after a month was archived", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 10_000n);
    await ledger.commit([call(a, 10, JANUARY, ["a"]), call(a, 300, JANUARY + 1, ["a"])]);
    // Their rows and records are in different months.
    const crossing = charge(a, 20, { callId: newId(JANUARY), at: JANUARY + 1, purses: ["a"] });
    await ledger.commit([crossing, call(a, 4, JANUARY, ["a"])]);
    t.strictSame(await archive(sql, "2026-01"), ["closed", "detached", "dropped"]);
    t.equal(await spent(), "a 334");
    await ledger.commit([call(a, 1, JANUARY + 2, ["a"])]);
    await proveFromStart(ledger);
    t.equal(await spent(), "a 335");
    while (!(await ledger.prove()).isDone);
    t.equal(await spent(), "a 335");
  });
});
