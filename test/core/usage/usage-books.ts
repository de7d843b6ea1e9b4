import assert from "node:assert/strict";
import type { Test } from "tap";
import { newId } from "../../../core/process/id.ts";
import type { UsageFilter } from "../../../core/usage/books.ts";
import { usageBooksOf } from "../../../core/usage/usage-books.ts";
import { AT, charge, fundedAccount, type LedgerUnderTest } from "../money/ledger/fixtures.ts";

const DAY_MS = 86_400_000;

export function usageBooksTests(t: Test, { ledger }: LedgerUnderTest): void {
  const books = usageBooksOf(ledger.database);
  t.before(() => books.prepare());

  /** Calls that differ in model, key, day and status; newest first. */
  async function accountWithCalls() {
    const accountId = await fundedAccount(ledger, 1_000n);
    const [one, two] = [newId(AT), newId(AT)];
    const entries = [
      charge(accountId, 50, { at: AT + DAY_MS, keyId: two, model: "b" }),
      charge(accountId, 0, { at: AT + 3, keyId: one, model: "a", status: 503 }),
      charge(accountId, 30, { at: AT + 2, keyId: one, model: "b" }),
      charge(accountId, 20, { at: AT + 1, keyId: two, model: "a" }),
      charge(accountId, 10, { at: AT, keyId: one, model: "a" }),
    ];
    await ledger.commit([...entries].reverse());
    return { accountId, one, two, calls: entries.map(({ posting }) => posting) };
  }

  t.test("calls are paged and filtered, newest first", async (t) => {
    const { accountId, one, two, calls } = await accountWithCalls();
    const found = async (filter: UsageFilter) => {
      const places: number[] = [];
      for (let before: { at: Date; callId: string } | undefined; ; ) {
        const page = await books.page({ accountId, filter, limit: 2, before });
        places.push(...page.map(({ callId }) => calls.findIndex((call) => call.callId === callId)));
        before = page.length === 2 ? page.at(-1) : undefined;
        if (before === undefined) return places;
      }
    };
    t.strictSame(await found({}), [0, 1, 2, 3, 4]);
    t.strictSame(await found({ model: "a" }), [1, 3, 4]);
    t.strictSame(await found({ key: two }), [0, 3]);
    t.strictSame(await found({ model: "b", key: one }), [2]);
    t.strictSame(await found({ model: "c", key: one }), []);
    t.strictSame(await found({ status: "ok" }), [0, 2, 3, 4]);
    t.strictSame(await found({ status: "failed" }), [1]);
    t.strictSame(await found({ status: 503, model: "b" }), []);
    t.strictSame(await found({ from: new Date(AT + 1), to: new Date(AT + 3) }), [2, 3]);
  });

  t.test("a record does not contain the provider", async (t) => {
    const { accountId, calls } = await accountWithCalls();
    const record = (await books.page({ accountId, filter: {}, limit: 5 })).at(-1);
    assert.ok(record);
    for (const name of ["accountId", "upstream", "purses"]) {
      t.ok(!(name in record), name);
    }
    t.equal(record.callId, calls.at(-1)?.callId);
    t.strictSame(await books.call(accountId, record.callId), record);
    const other = await fundedAccount(ledger, 0n);
    t.equal(await books.call(other, record.callId), undefined);
    t.equal(await books.call(accountId, newId(AT)), undefined);
  });

  t.test("calls are summed by day, model and key, with the keys that were used", async (t) => {
    const { accountId, one, two } = await accountWithCalls();
    const sums = async (...by: ("day" | "model" | "key")[]) =>
      (await books.sums(accountId, by, {})).sums.map(({ inputTokens, outputTokens, ...sum }) => ({
        ...sum,
      }));
    t.strictSame(await sums("model"), [
      { model: "b", calls: 2, chargedMicroVnd: 80n },
      { model: "a", calls: 3, chargedMicroVnd: 30n },
    ]);
    t.strictSame(await sums("day", "model"), [
      { day: "2025-06-15", model: "a", calls: 3, chargedMicroVnd: 30n },
      { day: "2025-06-15", model: "b", calls: 1, chargedMicroVnd: 30n },
      { day: "2025-06-16", model: "b", calls: 1, chargedMicroVnd: 50n },
    ]);
    const { total, isCut } = await books.sums(accountId, ["day", "key"], {});
    t.equal(total.calls, 5);
    t.equal(total.chargedMicroVnd, 110n);
    t.equal(isCut, false);
    t.equal((await books.sums(accountId, ["day"], { model: "a" })).total.chargedMicroVnd, 30n);
    t.equal((await books.sums(accountId, ["day"], { key: two })).total.chargedMicroVnd, 70n);
    // Midnight in Vietnam: of a period's end it is the first instant that is left out.
    const midnight = new Date(Date.UTC(2025, 5, 15, 17));
    const [first, second] = await Promise.all(
      [{ to: midnight }, { from: midnight }].map((days) => books.sums(accountId, ["day"], days)),
    );
    t.strictSame([first?.total.chargedMicroVnd, second?.total.chargedMicroVnd], [60n, 50n]);
    const none = await books.sums(accountId, ["day"], { model: "none" });
    t.strictSame([none.sums, none.total.calls, none.total.chargedMicroVnd], [[], 0, 0n]);
    const unused = newId(AT);
    const used = await books.byKey(accountId, [one, two, unused]);
    t.strictSame(
      new Map(used.map((key) => [key.keyId, [key.chargedMicroVnd, key.lastUsedAt.getTime()]])),
      new Map([
        [one, [40n, AT + 3]],
        [two, [70n, AT + DAY_MS]],
      ]),
    );
    t.strictSame(await books.byKey(accountId, []), []);
  });
}
