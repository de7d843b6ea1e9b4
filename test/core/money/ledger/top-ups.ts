import { setTimeout } from "node:timers/promises";
import type { Test } from "tap";
import { newId } from "../../../../core/process/id.ts";
import { AT, charge, debit, fundedAccount, type LedgerUnderTest, topUp } from "./fixtures.ts";

const DAY_MS = 86_400_000;

export function topUpTests(t: Test, { ledger }: LedgerUnderTest): void {
  t.test("top-ups are summed by reference and time, and nothing else is", async (t) => {
    const accountId = await fundedAccount(ledger, 0n);
    const other = await fundedAccount(ledger, 7n);
    const own = `sums-${newId(AT)}:`;
    await ledger.credit(topUp(accountId, 100n, `${own}1`));
    await ledger.credit(topUp(accountId, 20n, `${own}2`));
    await ledger.credit(topUp(accountId, 3n, `by hand ${own}`));
    t.strictSame(await ledger.commit([debit(accountId, 9n)]), []);
    await ledger.commit([charge(accountId, 10)]);

    const now = Date.now();
    const [yesterday, tomorrow] = [new Date(now - DAY_MS), new Date(now + DAY_MS)];
    const sums = async (id: string, from: Date, to: Date, referencePrefix: string) => {
      const found = await ledger.topUps({ accountId: id, from, to, referencePrefix });
      return [found.totalMicroVnd, found.periodMicroVnd];
    };
    t.strictSame(await sums(accountId, yesterday, tomorrow, ""), [123n, 123n]);
    t.strictSame(await sums(accountId, yesterday, tomorrow, own), [120n, 120n]);
    t.strictSame(await sums(accountId, tomorrow, tomorrow, own), [120n, 0n]);
    t.strictSame(await sums(accountId, new Date(0), yesterday, ""), [123n, 0n]);
    t.strictSame(await sums(other, yesterday, tomorrow, ""), [7n, 7n]);
    for (const nobody of [newId(AT), "no id at all"]) {
      t.strictSame(await sums(nobody, yesterday, tomorrow, ""), [0n, 0n]);
    }
  });

  t.test("what is taken back counts in the time of its top-up, not in its own", async (t) => {
    const accountId = await fundedAccount(ledger, 0n);
    const first = `first-${newId(AT)}`;
    const second = `second-${newId(AT)}`;
    await ledger.credit(topUp(accountId, 100n, first));
    const between = await laterThanNow();
    await ledger.credit(topUp(accountId, 20n, second));
    await ledger.commit([debit(accountId, 90n, `taken-back:1:${first}`)]);
    await ledger.commit([debit(accountId, 5n, `taken-back:2:${first}`)]);
    const sums = async (from: Date, to: Date) => {
      const found = await ledger.topUps({ accountId, from, to, referencePrefix: "" });
      return [found.totalMicroVnd, found.periodMicroVnd];
    };
    const dayMs = (days: number) => new Date(Date.now() + days * DAY_MS);
    t.strictSame(await sums(dayMs(-1), between), [25n, 5n]);
    t.strictSame(await sums(between, dayMs(1)), [25n, 20n]);
  });
}

/** Returns an instant after now that has passed. */
async function laterThanNow(): Promise<Date> {
  const instant = new Date(Date.now() + 2);
  while (Date.now() <= instant.getTime()) await setTimeout(1);
  return instant;
}
