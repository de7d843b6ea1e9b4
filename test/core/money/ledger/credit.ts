import assert from "node:assert/strict";
import type { Test } from "tap";
import type { Sql } from "../../../../core/database/client.ts";
import { EntryRefused } from "../../../../core/money/ledger.ts";
import type { Movement } from "../../../../core/money/outbox-entry.ts";
import { newId } from "../../../../core/process/id.ts";
import { OWN_STATEMENTS } from "../../../support/postgres.ts";
import { until } from "../../../support/until.ts";
import {
  AT,
  agreedBalance,
  applied,
  charge,
  debit,
  fundedAccount,
  holdUp,
  type LedgerUnderTest,
  topUp,
} from "./fixtures.ts";

export function creditTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  t.test("a credit raises balance, version and total; a repetition changes nothing", async (t) => {
    const a = await fundedAccount(ledger, 0n);
    const first = topUp(a, 500n);
    t.equal(await ledger.credited(first), undefined);
    const wallet = {
      accountId: a,
      balanceMicroVnd: 500n,
      creditVersion: 1,
      creditedMicroVnd: 500n,
    };
    const expected = (isNew: boolean) => ({ kind: "credited", applied: isNew, wallet });
    t.strictSame(plain(await ledger.credit(first)), expected(true));
    t.strictSame(plain(await ledger.credit(first)), expected(false));
    t.strictSame(plain(await ledger.credited(first)), expected(false));
    await ledger.commit([charge(a, 120)]);
    const adjustment = { ...topUp(a, 80n), kind: "adjustment", reason: "refunded" } as const;
    t.equal(applied(await ledger.credit(adjustment)), "true");
    t.equal(await agreedBalance(ledger, a), 460n);
    const { creditVersion, creditedMicroVnd } = (await ledger.wallet(a))!;
    t.strictSame([creditVersion, creditedMicroVnd], [2, 580n]);
  });

  t.test("a debit is taken once, however often its entry is committed", async (t) => {
    const a = await fundedAccount(ledger, 500n);
    const entry = debit(a, 80n);
    t.equal(await ledger.credited(entry.debit), undefined);
    const all = [entry, charge(a, 20)];
    t.strictSame(await ledger.commit(all), []);
    t.strictSame(await ledger.commit(all), []);
    t.equal(await agreedBalance(ledger, a), 400n);
    t.match(await ledger.credited(entry.debit), { kind: "credited", applied: false });
    const { creditVersion, creditedMicroVnd } = (await ledger.wallet(a))!;
    t.strictSame([creditVersion, creditedMicroVnd], [2, 500n], "only its number");
  });

  t.test("a debit takes nothing if its reference is taken, or it is not covered", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const b = await fundedAccount(ledger, 100n);
    const [first, paid] = [newId(AT), newId(AT)];
    await ledger.credit(topUp(a, 5n, paid));
    t.strictSame(await ledger.commit([debit(a, 30n, first, "first")]), []);
    const returned = [
      debit(a, 30n, first, "the same again, as another entry"),
      debit(a, 31n, first, "another amount"),
      debit(b, 30n, first, "another account"),
      debit(a, 5n, paid, "a top-up"),
      debit(a, 76n, newId(AT), "more than there is"),
      debit(newId(AT), 1n, newId(AT), "no account"),
      debit("nobody", 1n, newId(AT), "no id"),
    ];
    const ids = returned.map(({ entryId }) => entryId);
    t.strictSame(await ledger.commit(returned), ids);
    t.strictSame(await ledger.commit([...returned, charge(a, 1)]), ids);
    t.equal(await agreedBalance(ledger, a), 74n);
    t.equal(await agreedBalance(ledger, b), 100n);
  });

  t.test("a debit that was committed does not go to quarantine, and leaves it", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const [one, two] = [debit(a, 30n), debit(a, 10n, newId(AT), "2")];
    await ledger.commit([one]);
    const before = await ledger.quarantined();
    await ledger.quarantine(one, "cannot read it");
    t.equal(await ledger.quarantined(), before);
    await ledger.quarantine(two, "cannot read it");
    t.match(await ledger.wallet(a), { balanceMicroVnd: 60n });
    t.equal(await ledger.commitQuarantined(two.call.callId), true);
    t.equal(await ledger.quarantined(), before);
    t.equal(await agreedBalance(ledger, a), 60n);
  });

  t.test("a debit in quarantine that cannot be taken stays there, and says why", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const reference = newId(AT);
    const other = debit(a, 30n, reference);
    const used = debit(a, 10n, reference, "2");
    const dear = debit(a, 90n, newId(AT), "3");
    const before = await ledger.quarantined();
    for (const entry of [used, dear]) await ledger.quarantine(entry, "cannot read it");
    await ledger.commit([other]);
    for (const { call } of [used, dear]) {
      await assert.rejects(ledger.commitQuarantined(call.callId), EntryRefused);
    }
    t.equal(await ledger.quarantined(), before + 2);
    t.equal(await agreedBalance(ledger, a), 70n);
    await ledger.credit(topUp(a, 20n));
    t.equal(await ledger.commitQuarantined(dear.call.callId), true);
    t.equal(await agreedBalance(ledger, a), 0n);
  });

  t.test("wallets with newer movements are found among others", async (t) => {
    const [a, b, c] = [
      await fundedAccount(ledger, 100n),
      await fundedAccount(ledger, 200n),
      await fundedAccount(ledger, 300n),
    ];
    const newer = async (...versions: [string, string | null, number][]) => {
      const loaded = versions.map(([accountId, purse, version]) => ({ accountId, purse, version }));
      const wallets = await ledger.newerWallets(loaded);
      return wallets.map((wallet) => wallet.accountId).sort();
    };
    t.strictSame(await newer([a, null, 1], [b, null, 1], [c, null, 1], [c, "key", 0]), []);
    t.strictSame(
      await newer([a, null, 0], [b, null, 1], [newId(AT), null, 0], ["no id", null, 0]),
      [a],
    );
    t.strictSame(await newer([a, null, 1], [c, null, 0], [c, "key", 0]), [c]);
    t.strictSame(await newer([a, "key", -1]), []);
    t.strictSame(await newer(), []);
    const [wallet] = await ledger.newerWallets([{ accountId: c, purse: null, version: 0 }]);
    t.strictSame(wallet, await ledger.wallet(c));
  });

  t.test("wallets that moved are found by the ledger's time", async (t) => {
    const before = await fundedAccount(ledger, 100n);
    const sinceMs = (await ledger.now()) + 1;
    while ((await ledger.now()) <= sinceMs);
    const a = await fundedAccount(ledger, 100n);
    await ledger.credit(topUp(a, 5n));
    const b = await fundedAccount(ledger, 7n);
    const still = await fundedAccount(ledger, 0n);
    const found = await ledger.movedWallets(sinceMs);
    t.strictSame(
      found.map(({ accountId }) => accountId).sort(),
      [a, b].sort(),
      `not ${before} or ${still}`,
    );
    for (const wallet of found) t.strictSame(wallet, await ledger.wallet(wallet.accountId));
    const all = await ledger.movedWallets(0);
    t.ok([before, a, b].every((account) => all.some(({ accountId }) => accountId === account)));
    t.strictSame(await ledger.movedWallets((await ledger.now()) + 60_000), []);
  });

  t.test(
    "the ledger is complete only until the start of a movement whose commit is slow",
    async (t) => {
      const a = await fundedAccount(ledger, 100n);
      const beforeMs = await ledger.now();
      const { ended, end } = await underWay(sql, topUp(a, 5n));
      const startedMs = await ledger.now();
      t.ok((await ledger.completeThrough()) < startedMs);
      t.ok((await ledger.completeThrough()) >= beforeMs);
      await end();
      await ended;
      t.ok((await ledger.completeThrough()) > startedMs);
    },
  );

  t.test("a lookup of a movement waits for its commit, whose gateway has given up", async (t) => {
    const a = await fundedAccount(ledger, 100n);
    const movement = { ...topUp(a, 30n), kind: "adjustment" } as const;
    const { ended } = await underWay(sql, movement);
    t.match(await ledger.credited(movement), {
      kind: "credited",
      wallet: { balanceMicroVnd: 130n },
    });
    await ended;
  });

  t.test("the same reference twenty times at once is credited once", async (t) => {
    const a = await fundedAccount(ledger, 0n);
    const movement = topUp(a, 70n);
    const { released } = await holdUp(sql, "wallets", a);
    const results = await Promise.all(Array.from({ length: 20 }, () => ledger.credit(movement)));
    await released;
    t.equal(results.map(applied).filter((one) => one === "true").length, 1);
    t.equal(results.map(applied).filter((one) => one === "false").length, 19);
    t.equal(await agreedBalance(ledger, a), 70n);
  });

  t.test("a reference with another amount or account is a conflict, at once too", async (t) => {
    const a = await fundedAccount(ledger, 0n);
    const b = await fundedAccount(ledger, 0n);
    const reference = newId(AT);
    const results = await Promise.all([
      ledger.credit(topUp(a, 70n, reference)),
      ledger.credit(topUp(b, 70n, reference)),
    ]);
    t.strictSame(results.map(applied).sort(), ["reference_conflict", "true"]);
    const winner = applied(results[0]) === "true" ? a : b;
    t.equal(applied(await ledger.credit(topUp(winner, 71n, reference))), "reference_conflict");
    const adjustment = { ...topUp(winner, 70n, reference), kind: "adjustment" } as const;
    t.equal(applied(await ledger.credit(adjustment)), "reference_conflict");
    t.equal((await agreedBalance(ledger, a)) + (await agreedBalance(ledger, b)), 70n);
  });

  t.test("a wallet stays between 0 and 2^53 - 1 µđ", async (t) => {
    const a = await fundedAccount(ledger, 10n);
    const adjust = (amount: bigint) => ledger.credit({ ...topUp(a, amount), kind: "adjustment" });
    t.equal(applied(await adjust(-1n)), "out_of_range");
    t.equal(applied(await adjust(0n)), "out_of_range");
    t.equal(applied(await adjust(2n ** 53n - 10n)), "out_of_range");
    t.equal(applied(await adjust(2n ** 62n)), "out_of_range");
    t.equal(applied(await adjust(2n ** 53n - 11n)), "true");
    t.equal(await agreedBalance(ledger, a), 2n ** 53n - 1n);
    await ledger.commit([charge(a, 2 ** 53 - 1)]);
    t.equal(await agreedBalance(ledger, a), 0n);
  });

  t.test("an unknown account gets no credit", async (t) => {
    t.equal(applied(await ledger.credit(topUp(newId(AT), 5n))), "no_account");
    t.equal(applied(await ledger.credit(topUp("nobody", 5n))), "no_account");
  });

  t.test("credits and commits at once agree", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    await Promise.all([
      ...Array.from({ length: 10 }, () => ledger.credit(topUp(a, 30n))),
      ...Array.from({ length: 10 }, () => ledger.commit([charge(a, 5), charge(a, 6)])),
    ]);
    t.equal(await agreedBalance(ledger, a), 1_000n + 300n - 110n);
  });
}

/**
 * Begins a movement that is committed once a statement waits for its wallet, and after some seconds at most. `end` waits
 * for the wallet.
 */
async function underWay(sql: Sql, { accountId, kind, ...movement }: Movement) {
  const waiting = `select from ${OWN_STATEMENTS} where wait_event_type = 'Lock'`;
  const credit = [accountId, kind, movement.amountMicroVnd, movement.reference];
  const ended = sql.script(`do $$ begin
    perform credit_wallet(${credit.map((each) => `'${each}'`).join(", ")}, null);
    for attempt in 1..500 loop
      perform pg_stat_clear_snapshot();
      exit when exists (${waiting});
      perform pg_sleep(0.01);
    end loop;
  end $$`);
  const wallet = "select from wallets where account_id = $1 for update";
  const isTaken = async () => (await sql.query(`${wallet} skip locked`, [accountId])).length === 0;
  await until("the movement has the wallet", isTaken);
  return { ended, end: () => sql.query(wallet, [accountId]) };
}

/** Copies rows into plain objects, since rows of the client have no prototype. */
function plain(result: unknown): unknown {
  return structuredClone(result);
}
