import t from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { LedgerProof } from "../../../../core/money/ledger/proof.ts";
import { sums } from "../../../../core/money/ledger/sums.ts";
import type { ProofProgress } from "../../../../core/money/ledger.ts";
import { newId } from "../../../../core/process/id.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import { archive, detach } from "./archive-steps.ts";
import { AT, charge, fundedAccount, proveFromStart, topUp } from "./fixtures.ts";
import { startTestLedger, type TestLedger } from "./test-ledger.ts";

const JANUARY = Date.UTC(2026, 0, 20);

/** Changes of proven rows of `$1` by hand, each of which keeps every sum of amounts. */
const CHANGES: Readonly<Record<string, string>> = {
  "amounts of two charges": `update ledger_entries set amount = -100 - amount
    where account_id = $1 and kind = 'charge'`,
  "the id of a call": `update ledger_entries set call_id = '${newId(AT)}'
    where account_id = $1 and amount = -40`,
  "a balance after a row": `update ledger_entries set balance_after = 7
    where account_id = $1 and amount = -40`,
  "the reference of a top-up": `update ledger_entries set reference = reference || '!'
    where account_id = $1 and kind = 'topup'`,
  "a kind": `update ledger_entries set kind = 'adjustment' where account_id = $1 and kind = 'topup'`,
  "a reason": `update ledger_entries set reason = '' where account_id = $1 and kind = 'topup'`,
  "a time": `update ledger_entries set at = at + interval '1 microsecond'
    where account_id = $1 and amount = -40`,
  "a time that never comes": `update ledger_entries set at = 'infinity'
    where account_id = $1 and amount = -40`,
  "the limits of a charge": `update ledger_entries set limits = '[]'
    where account_id = $1 and amount = -40`,
  "a row that went, and its sum": `delete from ledger_entries where account_id = $1 and amount = -60`,
  "a row that came": `insert into ledger_entries
      (id, account_id, kind, amount, balance_after, reference)
    select min(id) - 1, $1, 'topup', 1, 1, 'by hand ' || $1 from ledger_entries where account_id = $1`,
};

t.test("rows that were changed by hand", async (t) => {
  let books: TestLedger;
  let sql: Sql;
  let ledger: PostgresLedger;

  t.beforeEach(async () => {
    books = await startTestLedger(3);
    ({ ledger, sql } = books);
  });
  t.afterEach(() => books.stop());

  /** An account with proven rows: a top-up, and charges of 40 and 60. */
  async function provenAccount(): Promise<string> {
    // Leaves an id for a row that comes later.
    await sql.query("select nextval('ledger_entry_ids')");
    const id = await fundedAccount(ledger, 1_000n);
    await ledger.commit([charge(id, 40), charge(id, 60)]);
    await prove();
    return id;
  }

  async function atEnd(proof: LedgerProof): Promise<ProofProgress> {
    for (;;) {
      const progress = await proof.advance();
      if (progress.isDone) return progress;
    }
  }

  const prove = async () => (await atEnd(new LedgerProof(sql))).changed;
  const proveAll = () => proveFromStart(ledger);

  /** Runs a statement that the ledger's triggers refuse. */
  async function byHand(text: string, accountId: string): Promise<void> {
    const parts = await sql.query<{ name: string }>(
      "select tgrelid::regclass::text as name from pg_trigger where tgname = 'ledger_entries_append_only'",
    );
    const triggers = (state: string) =>
      parts
        .map(({ name }) => `alter table ${name} ${state} trigger ledger_entries_append_only;`)
        .join("");
    const statement = text.replaceAll("$1", `'${accountId}'`);
    await sql.script(`${triggers("disable")}${statement};${triggers("enable")}`);
  }

  t.test("are found by a full proof, even if all sums are as before", async (t) => {
    await ledger.start();
    const sound = await provenAccount();
    for (const [what, text] of Object.entries(CHANGES)) {
      const changed = await provenAccount();
      t.notOk(await proveAll(), "all is as it was");
      await byHand(text, changed);
      t.notOk(await prove(), "proven rows are not read again");
      const found = await proveAll();
      t.strictSame(found?.accountIds, [changed], what);
      t.strictSame([await prove(), await proveAll()], [found, found], "until it is undone");
      t.ok(await ledger.acceptChangedRows());
      t.notOk(await ledger.acceptChangedRows(), "once");
      t.strictSame([await prove(), await proveAll()], [undefined, undefined]);
    }
    const drift = await ledger.sum(sound);
    t.equal(drift?.balanceMicroVnd, drift?.entriesMicroVnd);
  });

  t.test("are found although a transaction keeps the newest rows from being proven", async (t) => {
    await ledger.start();
    const a = await provenAccount();
    await byHand(CHANGES["amounts of two charges"] ?? "", a);
    const open = sql.script(
      `insert into accounts (id, email) values ('${newId(AT)}', 'open@example.com'); select pg_sleep(3)`,
    );
    const asleep = "select from pg_stat_activity where wait_event = 'PgSleep'";
    while ((await sql.query(asleep)).length === 0);
    await ledger.commit([charge(a, 1)]);
    const impatient = { ...systemMachine, monotonic: () => performance.now() * 1_000_000 };
    const proof = new LedgerProof(sql, impatient);
    await proof.restart();
    const progress = await atEnd(proof);
    t.ok(progress.heldUpBy, "the newest row is not proven");
    t.strictSame(progress.changed?.accountIds, [a]);
    await open;
  });

  t.test("are found by a process that began its pages before another began again", async (t) => {
    await ledger.start();
    const a = await provenAccount();
    await ledger.commit([charge(a, 1), charge(a, 2), charge(a, 3)]);
    const early = new LedgerProof(sql, systemMachine, 1);
    t.notOk((await early.advance()).isDone);
    await ledger.commit([charge(a, 4)]);
    await prove();
    await byHand(CHANGES["amounts of two charges"] ?? "", a);
    await new LedgerProof(sql).restart();
    t.strictSame((await atEnd(early)).changed?.accountIds, [a]);
  });

  t.test("are found too if others were changed before them", async (t) => {
    await ledger.start();
    const [a, b] = [await provenAccount(), await provenAccount()];
    const swap = CHANGES["amounts of two charges"] ?? "";
    await byHand(swap, a);
    t.strictSame((await proveAll())?.accountIds, [a]);
    const c = await provenAccount();
    await ledger.commit([charge(b, 5), charge(b, 7)]);
    await prove();
    await byHand(swap, c);
    await byHand(
      "update ledger_entries set amount = -12 - amount where account_id = $1 and amount in (-5, -7)",
      b,
    );
    t.strictSame((await proveAll())?.accountIds, [a, b, c].sort());
    await byHand(swap, a);
    t.strictSame((await proveAll())?.accountIds, [b, c].sort());
    t.ok(await ledger.acceptChangedRows());
    t.notOk(await proveAll());
  });

  t.test("do not leave the ledger with a month that was closed before", async (t) => {
    await ledger.start();
    const a = await provenAccount();
    t.equal(await archiveOf(sql).close("2025-06"), "closed");
    await byHand(CHANGES["a balance after a row"] ?? "", a);
    t.ok(await proveAll());
    t.equal(await detach(sql, "2025-06"), "unproven");
  });

  t.test("are no longer found once they are as they were", async (t) => {
    await ledger.start();
    const a = await provenAccount();
    const swap = CHANGES["amounts of two charges"] ?? "";
    await byHand(swap, a);
    const found = await proveAll();
    t.strictSame([found?.accounts, found?.accountIds], [1, [a]]);
    for await (const sum of sums(sql)) t.equal(sum.entriesMicroVnd, sum.balanceMicroVnd);
    t.equal(await archiveOf(sql).close("2025-06"), "unproven", "and must not leave the ledger");
    await byHand(swap, a);
    t.ok(await prove(), "the proof is of before");
    t.notOk(await proveAll());
    t.equal(await archiveOf(sql).close("2025-06"), "closed");
  });

  t.test("are not those that come while a proof is under way, or is begun again", async (t) => {
    await ledger.start();
    const [a, b] = [await fundedAccount(ledger, 1_000n), await fundedAccount(ledger, 1_000n)];
    await ledger.commit(Array.from({ length: 20 }, (_, n) => charge(n % 2 ? a : b, n + 1)));
    await prove();
    for (let round = 0; round < 5; round += 1) {
      const proof = new LedgerProof(sql, systemMachine, 4);
      await proof.restart();
      for (let page = 0; page < round; page += 1) await proof.advance();
      await ledger.commit([charge(a, 1), charge(b, 2)]);
      await ledger.credit(topUp(a, 5n));
      t.notOk(await ledger.acceptChangedRows());
    }
    t.notOk(await prove());
    const [kept] = await sql.query<{ left: number }>(
      "select count(*)::integer as left from proof_checkpoint",
    );
    t.equal(kept?.left, 0);
  });

  t.test("are not those of a month that has left the ledger", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 1_000n);
    const january = () => ({ callId: newId(JANUARY), at: JANUARY });
    await ledger.changeLimit({
      accountId: a,
      name: "day",
      kind: "create",
      amountMicroVnd: 500n,
      reference: "the limit",
      reason: null,
    });
    const limited = { ...january(), limits: ["day"] };
    await ledger.commit([charge(a, 3, limited), charge(a, 4, january()), charge(a, 60)]);
    await prove();
    t.notOk(await proveAll());
    t.strictSame(await archive(sql, ledger, "2026-01"), ["closed", "detached", "dropped"]);
    t.strictSame([await proveAll(), await proveAll()], [undefined, undefined]);
    await byHand(
      "update ledger_entries set balance_after = 7 where account_id = $1 and amount = -60",
      a,
    );
    t.strictSame((await proveAll())?.accountIds, [a]);
  });
});
