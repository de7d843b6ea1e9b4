import assert from "node:assert/strict";
import type { Test } from "tap";
import type { PostgresLedger } from "../../../../core/money/ledger/postgres.ts";
import { newId } from "../../../../core/process/id.ts";
import { AT, agreedBalance, charge, fundedAccount, type LedgerUnderTest } from "./fixtures.ts";

const NAME = "key:K";

export function purseTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  t.test("a purse that was never charged has nothing spent", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const none = { balanceMicroVnd: 0n, creditVersion: 0, creditedMicroVnd: 0n };
    t.strictSame(await ledger.purse(a, NAME), { accountId: a, ...none });
    t.equal(await ledger.purse("nobody", NAME), undefined);
    const sums = { entriesMicroVnd: 0n, balanceMicroVnd: 0n, quarantinedMicroVnd: 0n };
    t.strictSame(await ledger.sum(a, NAME), { accountId: a, purse: NAME, ...sums });
  });

  t.test(
    "a call is charged to its wallet and to each purse that it names, once, in one transaction",
    async (t) => {
      const a = await fundedAccount(ledger, 1_000n);
      const b = await fundedAccount(ledger, 1_000n);
      const both = charge(a, 100, { purses: [NAME, "day"] });
      const batch = [
        ...[both, charge(a, 30, { purses: [NAME] }), charge(a, 7)],
        ...[charge(a, 0, { purses: [NAME] }), charge(b, 1, { purses: [NAME] })],
      ];
      await ledger.commit(batch);
      await ledger.commit([both]);
      await ledger.commit(batch);
      t.equal(await spent(ledger, a), "day 100, key:K 130");
      t.equal(await spent(ledger, b), "day 0, key:K 1");
      t.equal(await agreedBalance(ledger, a), 863n);
      const refused = charge(a, 10_000, { purses: [NAME] });
      await t.rejects(ledger.commit([charge(a, 5, { purses: [NAME] }), refused]));
      t.equal(await spent(ledger, a), "day 100, key:K 130");
    },
  );

  t.test("commits at once of calls with the same purses count each of them", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const purses = [NAME, "day"];
    const calls = Array.from({ length: 20 }, () => charge(a, 3, { purses }));
    await Promise.all(calls.flatMap((call) => [ledger.commit([call]), ledger.commit([call])]));
    t.equal(await spent(ledger, a), "day 60, key:K 60");
  });

  t.test("an entry that names no purse is charged to its wallet alone", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const entry = charge(a, 30);
    t.ok(!entry.text.includes("purses"));
    await ledger.commit([entry]);
    t.equal(await spent(ledger, a), "day 0, key:K 0");
    t.equal((await ledger.call(entry.posting.callId))?.purses, null);
  });

  t.test(
    "the charge of a call in quarantine is spent of a purse, and once after it is committed",
    async (t) => {
      const a = await fundedAccount(ledger, 1_000n);
      const entry = charge(a, 30, { purses: [NAME] });
      await ledger.quarantine(entry, "for a test");
      t.equal(await spent(ledger, a), "day 0, key:K 30");
      t.equal(await ledger.commitQuarantined(entry.posting.callId), true);
      t.equal(await spent(ledger, a), "day 0, key:K 30");
      t.equal(await agreedBalance(ledger, a), 970n);
    },
  );

  t.test("what is spent of a purse equals the records of its calls", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    await ledger.commit([
      charge(a, 30, { purses: [NAME, "day"] }),
      charge(a, 5, { at: AT + 400 * 86_400_000, purses: ["day"] }),
    ]);
    await ledger.quarantine(charge(a, 7, { purses: [NAME] }), "for a test");
    t.strictSame(await sums(ledger, a), ["day -35 -35 0", "key:K -30 -30 7"]);
    await sql.query("update purses set charged = charged + 1 where account_id = $1", [a]);
    t.strictSame(await sums(ledger, a), ["day -35 -36 0", "key:K -30 -31 7"]);
  });

  t.test("purses and wallets that the ledger does not have are found among others", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    await ledger.commit([charge(a, 30, { purses: [NAME] })]);
    const nobody = newId(AT);
    const known = [wallet(a, null), wallet(a, NAME)];
    const unknown = [wallet(nobody, null), wallet(a, "day"), wallet(nobody, NAME)];
    const invalid = wallet("no id", null);
    t.strictSame(await ledger.unknown([...known, ...unknown, invalid]), [...unknown, invalid]);
  });
}

const wallet = (accountId: string, purse: string | null) => ({ accountId, purse, version: 0 });

/** Returns what is spent of the two purses of an account. */
async function spent(ledger: PostgresLedger, accountId: string): Promise<string> {
  const read = async (name: string) => {
    const { balanceMicroVnd = 0n } = (await ledger.purse(accountId, name)) ?? {};
    return `${name} ${-balanceMicroVnd}`;
  };
  return (await Promise.all(["day", NAME].map(read))).join(", ");
}

/** Returns `key:K -70 -70 7`: the sum of a purse's rows, its balance, its charges in quarantine; read in two ways. */
async function sums(ledger: PostgresLedger, accountId: string): Promise<string[]> {
  const found: string[] = [];
  for await (const sum of ledger.sums()) {
    if (sum.accountId !== accountId || sum.purse === null) continue;
    assert.deepEqual(await ledger.sum(accountId, sum.purse), sum);
    const { entriesMicroVnd, balanceMicroVnd, quarantinedMicroVnd } = sum;
    found.push(`${sum.purse} ${entriesMicroVnd} ${balanceMicroVnd} ${quarantinedMicroVnd}`);
  }
  return found;
}
