import assert from "node:assert/strict";
import type { Test } from "tap";
import { sqlState } from "../../../../core/database/client.ts";
import { newId } from "../../../../core/process/id.ts";
import { AT, charge, fundedAccount, type LedgerUnderTest } from "./fixtures.ts";

const CHECK_VIOLATION = "23514";
const UNIQUE_VIOLATION = "23505";
const RESTRICT_VIOLATION = "23001";

/** Changes that the database itself refuses, even if the code above is wrong. */
export function guardTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  async function state(text: string, values: (string | bigint)[] = []): Promise<string> {
    return sql.query(text, values).then(
      () => "done",
      (error: unknown) => sqlState(error) ?? String(error),
    );
  }

  t.test("a ledger row cannot be changed or removed", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    for (const text of [
      "update ledger_entries set amount = amount",
      "update ledger_entries set reason = 'nothing' where id = -1",
      "delete from ledger_entries",
      "delete from ledger_entries where id = -1",
      "truncate ledger_entries",
    ]) {
      t.equal(await state(text), RESTRICT_VIOLATION, text);
    }
    t.equal((await sql.query("select from ledger_entries where account_id = $1", [a])).length, 1);
  });

  t.test("a wallet cannot be negative, nor above 2^53 - 1", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const set = "update wallets set balance = $2 where account_id = $1";
    t.equal(await state(set, [a, -1n]), CHECK_VIOLATION);
    t.equal(await state(set, [a, 2n ** 53n]), CHECK_VIOLATION);
  });

  t.test("a call cannot be charged twice, nor a reference credited twice", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const entry = charge(a, 10);
    await ledger.commit([entry]);
    const again = `insert into ledger_entries (account_id, kind, amount, balance_after, call_id)
      values ($1, 'charge', -1, 0, $2)`;
    t.equal(await state(again, [a, entry.posting.callId]), UNIQUE_VIOLATION);
    const credit = `insert into ledger_entries (account_id, kind, amount, balance_after, reference)
      values ($1, 'topup', 1, 0, 'the same')`;
    t.equal(await state(credit, [a]), "done");
    t.equal(await state(credit, [a]), UNIQUE_VIOLATION);
  });

  t.test("a row must have the fields of its kind", async () => {
    const a = await fundedAccount(ledger, 100n);
    const insert = `insert into ledger_entries
      (account_id, kind, amount, balance_after, call_id, reference) values ($1, $2, $3, $4, $5, $6)`;
    const call = newId(AT);
    const rows: (string | bigint | null)[][] = [
      [a, "charge", 5n, 5n, call, null],
      [a, "charge", -5n, -5n, call, null],
      [a, "charge", -5n, 5n, null, "r1"],
      [a, "topup", -5n, 5n, null, "r2"],
      [a, "topup", 5n, 5n, call, null],
      [a, "adjustment", 0n, 5n, null, "r3"],
      [a, "gift", 5n, 5n, null, "r4"],
    ];
    for (const row of rows) {
      await assert.rejects(
        sql.query(insert, row),
        (error) => sqlState(error) === CHECK_VIOLATION,
        row.join(" "),
      );
    }
  });

  t.test("an account with a wallet cannot be deleted", async (t) => {
    const a = await fundedAccount(ledger, 0n);
    t.equal(await state("delete from accounts where id = $1", [a]), "23503");
  });
}
