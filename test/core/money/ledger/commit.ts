import assert from "node:assert/strict";
import type { Test } from "tap";
import { entryOf } from "../../../../core/money/entry.ts";
import { EntryRefused } from "../../../../core/money/ledger.ts";
import { newId } from "../../../../core/process/id.ts";
import {
  AT,
  agreedBalance,
  balance,
  charge,
  fundedAccount,
  type LedgerUnderTest,
} from "./fixtures.ts";

export function commitTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  t.test("a batch leaves a row for each charge, with the balance after it", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const b = await fundedAccount(ledger, 50n);
    await ledger.commit([charge(a, 100), charge(b, 7), charge(a, 20), charge(b, 0), charge(a, 3)]);
    const rows = await sql.query<{ account: string; amount: bigint; after: bigint }>(
      `
      select account_id as account, amount, balance_after as after from ledger_entries
      where account_id in ($1, $2) and kind = 'charge' order by id`,
      [a, b],
    );
    const rowsOf = (id: string) =>
      rows.filter(({ account }) => account === id).map(({ amount, after }) => [amount, after]);
    t.strictSame(rowsOf(a), [
      [-100n, 900n],
      [-20n, 880n],
      [-3n, 877n],
    ]);
    t.strictSame(rowsOf(b), [[-7n, 43n]]);
    t.equal(await agreedBalance(ledger, a), 877n);
    t.equal(await agreedBalance(ledger, b), 43n);
  });

  t.test(
    "a call is charged once: in one batch, in a later one, in another connection",
    async (t) => {
      const a = await fundedAccount(ledger, 100_000n);
      const batch = Array.from({ length: 40 }, (_, n) => charge(a, n));
      await ledger.commit([...batch, ...batch]);
      await ledger.commit(batch);
      await Promise.all(Array.from({ length: 6 }, () => ledger.commit(batch)));
      t.equal(await agreedBalance(ledger, a), 100_000n - 780n);
      t.equal((await ledger.usage({ accountId: a, limit: 100 })).length, 40);
    },
  );

  t.test("calls around midnight, in two months without a table yet, are committed", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const midnight = Date.UTC(2091, 1);
    await ledger.commit([charge(a, 1, { at: midnight - 1 })]);
    await ledger.commit([charge(a, 2, { at: midnight })]);
    t.equal(await agreedBalance(ledger, a), 97n);
  });

  t.test("batches sent twice at once, over many accounts in any order, commit once", async (t) => {
    const accountIds = await Promise.all(
      Array.from({ length: 8 }, () => fundedAccount(ledger, 10_000n)),
    );
    const batches = Array.from({ length: 12 }, (_, n) =>
      Array.from({ length: 16 }, (_, m) => charge(accountIds[(n * 5 + m * 3) % 8]!, 10)),
    );
    await Promise.all(
      batches.flatMap((batch) => [ledger.commit(batch), ledger.commit([...batch].reverse())]),
    );
    for (const accountId of accountIds) {
      t.equal(await agreedBalance(ledger, accountId), 10_000n - 240n);
    }
  });

  t.test("a call that cost nothing leaves one record and no ledger row", async (t) => {
    const a = await fundedAccount(ledger, 5n);
    const free = charge(a, 0, { status: 502, outcome: "refused" });
    await Promise.all([ledger.commit([free, free]), ledger.commit([free])]);
    await ledger.commit([free]);
    t.equal((await ledger.usage({ accountId: a, limit: 10 })).length, 1);
    const rows = await sql.query("select from ledger_entries where call_id = $1", [
      free.posting.callId,
    ]);
    t.equal(rows.length, 0);
  });

  t.test("a batch with calls of an earlier one commits the others", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const [paid, free] = [charge(a, 30), charge(a, 0)];
    await ledger.commit([paid, free]);
    // Once with a charge that repeats, once with a record that does.
    await ledger.commit([charge(a, 5), paid, charge(a, 0)]);
    await ledger.commit([charge(a, 7), free, charge(a, 0)]);
    t.equal(await agreedBalance(ledger, a), 958n);
    t.equal((await ledger.usage({ accountId: a, limit: 10 })).length, 6);
  });

  t.test("a repetition under another time is not recorded a second time", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const callId = newId(AT);
    await ledger.commit([charge(a, 10, { callId })]);
    await ledger.commit([charge(a, 10, { callId, at: AT + 5_000 })]);
    t.equal(await agreedBalance(ledger, a), 90n);
    t.equal((await ledger.usage({ accountId: a, limit: 10 })).length, 1);
  });

  t.test("a write-off is recorded and not charged", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    await ledger.commit([entryOf("1", charge(a, 100).posting, 100, 40)]);
    const [record] = await ledger.usage({ accountId: a, limit: 1 });
    t.strictSame([record?.chargedMicroVnd, record?.writtenOffMicroVnd], [100n, 40n]);
    t.equal(await agreedBalance(ledger, a), 0n);
  });

  const refused = {
    "of an account that is not there": () => charge(newId(AT), 1),
    "of an account that is not there, costing nothing": () => charge(newId(AT), 0),
    "of something that is no account": () => charge("nobody", 1),
    "with an id that is none": (a: string) => charge(a, 1, { callId: "call 1" }),
    "of a time that is none": (a: string) => charge(a, 1, { at: 5 }),
    "that takes more than there is": (a: string) => charge(a, 101),
    "with a number that no column takes": (a: string) => charge(a, 1, { images: 1e12 }),
  };
  for (const [what, make] of Object.entries(refused)) {
    t.test(`a call ${what} is refused, and its batch with it`, async (t) => {
      const a = await fundedAccount(ledger, 100n);
      const sound = charge(a, 1);
      await assert.rejects(ledger.commit([sound, make(a)]), EntryRefused);
      t.equal(await agreedBalance(ledger, a), 100n);
      t.strictSame(await ledger.usage({ accountId: a, limit: 10 }), []);
      await ledger.commit([sound]);
      t.equal(await balance(ledger, a), 99n);
    });
  }

  t.test("a client's model name cannot keep a call from being committed", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    await ledger.commit([charge(a, 1, { mappedFrom: `x\0y\ud800 '"\\ đ` })]);
    const [record] = await ledger.usage({ accountId: a, limit: 1 });
    t.equal(record?.mappedFrom, `xy\ufffd '"\\ đ`);
  });

  t.test(
    "a single call is committed though its month is missing since a backup was restored",
    async (t) => {
      const a = await fundedAccount(ledger, 100n);
      const at = Date.UTC(2027, 4, 9);
      const call = (amount: number) => charge(a, amount, { callId: newId(at), at });
      await ledger.commit([call(1)]);
      await sql.script("drop table usage_records_2027_05; drop table ledger_entries_2027_05");
      await ledger.commit([call(2)]);
      t.equal(await balance(ledger, a), 97n);
      t.equal(await ledger.quarantined(), 0);
    },
  );

  t.test("an empty batch is accepted", async () => {
    await ledger.commit([]);
  });
}
