import type { Test } from "tap";
import { LedgerProof } from "../../../../core/money/ledger/proof.ts";
import { sums } from "../../../../core/money/ledger/sums.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { OWN_STATEMENTS } from "../../../support/postgres.ts";
import { charge, fundedAccount, type LedgerUnderTest, proveFromStart, topUp } from "./fixtures.ts";

/** Tests of the rows that `reconcile` has added up, and need not read again. */
export function proofTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  async function drift(accountId: string): Promise<bigint> {
    for await (const sum of sums(sql)) {
      if (sum.accountId === accountId) return sum.entriesMicroVnd - sum.balanceMicroVnd;
    }
    throw new Error("no such wallet");
  }

  async function proveAll(proof: LedgerProof): Promise<void> {
    while (!(await proof.advance()).isDone);
  }

  async function rows(accountId: string): Promise<number> {
    const [row] = await sql.query<{ rows: number }>(
      `select count(*)::integer as rows from ledger_entries
        where account_id = $1 and id > (select entry_id from ledger_proof)`,
      [accountId],
    );
    return row?.rows ?? Number.NaN;
  }

  t.test("ledger rows are added up page by page, each once, by any process", async (t) => {
    const [a, b] = [await fundedAccount(ledger, 1_000n), await fundedAccount(ledger, 500n)];
    await ledger.commit(Array.from({ length: 20 }, (_, n) => charge(n % 2 ? a : b, n)));
    const first = new LedgerProof(sql, systemMachine, 4);
    await first.restart();
    const begun = await first.advance();
    t.notOk(begun.isDone);
    t.ok(begun.provenThrough < begun.last);
    t.strictSame([await drift(a), await drift(b)], [0n, 0n]);
    const others = [1, 2, 3].map(() => new LedgerProof(sql, systemMachine, 4));
    await Promise.all(others.map(proveAll));
    t.strictSame([await rows(a), await rows(b)], [0, 0]);
    t.strictSame([await drift(a), await drift(b)], [0n, 0n]);
    await ledger.commit([charge(a, 7)]);
    await ledger.credit(topUp(b, 11n));
    t.strictSame([await rows(a), await drift(a), await drift(b)], [1, 0n, 0n]);
    t.equal((await ledger.prove()).isDone, true);
    t.strictSame([await rows(a), await drift(a), await drift(b)], [0, 0n, 0n]);
  });

  t.test(
    "a row that was changed by hand is found: if it is new, and later by a full proof",
    async (t) => {
      const a = await fundedAccount(ledger, 1_000n);
      await ledger.commit([charge(a, 40)]);
      const change = async (amount: number) => {
        await sql.query("alter table ledger_entries disable trigger ledger_entries_append_only");
        const text =
          "update ledger_entries set amount = $2 where account_id = $1 and kind = 'charge'";
        await sql.query(text, [a, amount]);
        await sql.query("alter table ledger_entries enable trigger ledger_entries_append_only");
      };
      await change(-39);
      t.equal(await drift(a), 1n);
      await change(-40);
      await ledger.prove();
      await change(-39);
      t.equal(await drift(a), 0n);
      await proveFromStart(ledger);
      t.equal(await drift(a), 1n);
      await change(-40);
      await proveFromStart(ledger);
      t.equal(await drift(a), 0n);
    },
  );

  t.test("a row whose transaction ends after that of a later row is added up too", async (t) => {
    const [slow, quick] = [await fundedAccount(ledger, 0n), await fundedAccount(ledger, 0n)];
    const written = sql.query(
      `with money as (update wallets set balance = 5 where account_id = $1 returning account_id),
        entry as (
          insert into ledger_entries (account_id, kind, amount, balance_after, reference)
          select account_id, 'topup', 5, 5, $2 from money returning id
        )
      select pg_sleep(3) from entry`,
      [slow, `slow ${slow}`],
    );
    // Its row is written once it sleeps.
    const asleep = `select from ${OWN_STATEMENTS} where wait_event = 'PgSleep' and query like '%entry%'`;
    while ((await sql.query(asleep)).length === 0);
    await ledger.credit(topUp(quick, 9n));
    const impatient = { ...systemMachine, monotonic: () => performance.now() * 1_000_000 };
    const given = await new LedgerProof(sql, impatient).advance();
    t.ok(given.isDone);
    const [open] = await sql.query<{ pid: number; name: string; since: Date }>(
      `select pid, application_name as name, xact_start as since from ${OWN_STATEMENTS}
        where wait_event = 'PgSleep' and query like '%entry%'`,
    );
    t.ok(open);
    const { pid, since } = given.heldUpBy ?? {};
    // A gateway of another test may have a transaction that is older, and holds it up too.
    t.ok(pid === open?.pid || (since && open && since < open.since), "it names the oldest");
    t.ok((await rows(quick)) === 1, "no row after an open one is added up");
    await proveAll(new LedgerProof(sql));
    await written;
    t.notOk("heldUpBy" in (await new LedgerProof(sql).advance()));
    t.strictSame([await rows(slow), await rows(quick)], [0, 0]);
    t.strictSame([await drift(slow), await drift(quick)], [0n, 0n]);
  });
}
