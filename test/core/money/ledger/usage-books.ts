import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { UsageBooks, UsageFilter } from "../../../../core/contract/usage-books.ts";
import { usageBooksOf } from "../../../../core/money/ledger/usage-books.ts";
import { newId } from "../../../../core/process/id.ts";
import type { LedgerUnderTest } from "./conformance.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";

const DAY_MS = 86_400_000;

export function usageBooksTests(get: () => LedgerUnderTest): void {
  let books: UsageBooks;
  before(async () => {
    books = usageBooksOf(get().ledger.database);
    await books.prepare();
  });

  /** Calls that differ in model, key, day and status; newest first. */
  async function accountWithCalls() {
    const { ledger } = get();
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

  test("calls are paged by what they are, newest first", async () => {
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
    assert.deepEqual(await found({}), [0, 1, 2, 3, 4]);
    assert.deepEqual(await found({ model: "a" }), [1, 3, 4]);
    assert.deepEqual(await found({ key: two }), [0, 3]);
    assert.deepEqual(await found({ model: "b", key: one }), [2]);
    assert.deepEqual(await found({ model: "c", key: one }), []);
    assert.deepEqual(await found({ status: "ok" }), [0, 2, 3, 4]);
    assert.deepEqual(await found({ status: "failed" }), [1]);
    assert.deepEqual(await found({ status: 503, model: "b" }), []);
    assert.deepEqual(await found({ from: new Date(AT + 1), to: new Date(AT + 3) }), [2, 3]);
  });

  test("a record says nothing of the provider, or of what the operator paid", async () => {
    const { accountId, calls } = await accountWithCalls();
    const record = (await books.page({ accountId, filter: {}, limit: 5 })).at(-1);
    assert.ok(record);
    for (const name of ["accountId", "upstream", "operatorCostMicro", "costsVersion"]) {
      assert.ok(!(name in record), name);
    }
    assert.equal(record.callId, calls.at(-1)?.callId);
    assert.deepEqual(await books.call(accountId, record.callId), record);
    const other = await fundedAccount(get().ledger, 0n);
    assert.equal(await books.call(other, record.callId), undefined);
    assert.equal(await books.call(accountId, newId(AT)), undefined);
  });

  test("calls are summed by day, model and key, and by those keys that were used", async () => {
    const { accountId, one, two } = await accountWithCalls();
    const sums = async (...by: ("day" | "model" | "key")[]) =>
      (await books.sums(accountId, by, {})).map(({ inputTokens, outputTokens, ...sum }) => ({
        ...sum,
      }));
    assert.deepEqual(await sums("model"), [
      { model: "b", calls: 2, chargedMicroVnd: 80n },
      { model: "a", calls: 3, chargedMicroVnd: 30n },
    ]);
    assert.deepEqual(await sums("day", "model"), [
      { day: "2025-06-15", model: "a", calls: 3, chargedMicroVnd: 30n },
      { day: "2025-06-15", model: "b", calls: 1, chargedMicroVnd: 30n },
      { day: "2025-06-16", model: "b", calls: 1, chargedMicroVnd: 50n },
    ]);
    const unused = newId(AT);
    const used = await books.byKey(accountId, [one, two, unused]);
    assert.deepEqual(
      new Map(used.map((key) => [key.keyId, [key.chargedMicroVnd, key.lastUsedAt.getTime()]])),
      new Map([
        [one, [40n, AT + 3]],
        [two, [70n, AT + DAY_MS]],
      ]),
    );
    assert.deepEqual(await books.byKey(accountId, []), []);
  });
}
