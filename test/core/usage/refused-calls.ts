import type { Test } from "tap";
import { newId } from "../../../core/process/id.ts";
import type { RefusedCall, RefusedCount } from "../../../core/usage/books.ts";
import { addRefusedCalls, dropRefusedCalls } from "../../../core/usage/refused-calls.ts";
import { usageBooksOf } from "../../../core/usage/usage-books.ts";
import { AT, type LedgerUnderTest } from "../money/ledger/fixtures.ts";

const DAY_MS = 86_400_000;

export function refusedCallsTests(t: Test, { ledger: { database } }: LedgerUnderTest): void {
  const keyId = newId(AT);
  const count = (day: string, calls: number, more: Partial<RefusedCount> = {}): RefusedCount => ({
    day,
    keyId,
    status: 402,
    cause: "insufficient_balance",
    calls,
    lastAt: new Date(AT + calls),
    ...more,
  });
  const call = (at: number): RefusedCall => ({
    callId: newId(at),
    at: new Date(at),
    keyId,
    endpoint: "/v1/messages",
    model: null,
    status: 402,
    cause: "insufficient_balance",
  });

  t.test(
    "the last refused calls are shown latest first, whichever process wrote first",
    async (t) => {
      const accountId = newId(AT);
      const calls = [call(AT + 9), call(AT + 1), call(AT + 5)] as const;
      for (const one of calls) {
        await addRefusedCalls(database, [
          { accountId, counts: [count("2025-06-15", 1)], last: [one] },
        ]);
      }
      const { last } = await usageBooksOf(database).refused(accountId, {});
      t.strictSame(last, [calls[0], calls[2], calls[1]]);
    },
  );

  t.test("refused calls are added up, and the last twenty of an account are kept", async (t) => {
    const books = usageBooksOf(database);
    const accountId = newId(AT);
    const calls = Array.from({ length: 30 }, (_, at) => call(AT + at));
    const day = "2025-06-15";
    await addRefusedCalls(database, [
      {
        accountId,
        counts: [count(day, 2), count("2025-06-14", 5)],
        last: calls.slice(0, 15).reverse(),
      },
      { accountId: newId(AT), counts: [count(day, 9)], last: [call(AT)] },
    ]);
    const other = { keyId: newId(AT), status: 400, cause: "messages" };
    await addRefusedCalls(database, [
      { accountId, counts: [count(day, 3), count(day, 1, other)], last: calls.slice(15).reverse() },
    ]);
    const { counts, last } = await books.refused(accountId, {});
    t.strictSame(counts, [
      count(day, 5, { lastAt: new Date(AT + 3) }),
      count(day, 1, other),
      count("2025-06-14", 5),
    ]);
    t.strictSame(last, calls.slice(10).reverse());
    const found = async (filter: Parameters<typeof books.refused>[1]) =>
      (await books.refused(accountId, filter)).counts.map(({ calls }) => calls);
    t.strictSame(await found({ from: new Date(AT) }), [5, 1]);
    t.strictSame(await found({ to: new Date(AT - DAY_MS) }), [5]);
    const midnight = Date.UTC(2025, 5, 14, 17);
    t.strictSame(await found({ to: new Date(midnight) }), [5]);
    t.strictSame(await found({ to: new Date(midnight + 1) }), [5, 1, 5], "in Vietnam");
    t.strictSame(await found({ key: other.keyId }), [1]);
    const lastOf = async (filter: Parameters<typeof books.refused>[1]) =>
      (await books.refused(accountId, filter)).last.length;
    t.equal(await lastOf({ key: other.keyId }), 0);
    t.equal(await lastOf({ to: new Date(midnight) }), 0);
    t.equal(await lastOf({ to: new Date(midnight + 1) }), 20);
    await dropRefusedCalls(database, new Date(AT));
    t.strictSame(await found({}), [5, 1], "what is older is dropped");
  });
  t.test("old days of refused calls are found by an index", async (t) => {
    const found = await database.query(
      "select indexdef from pg_indexes where tablename = 'refused_calls' and indexdef like '%(day)'",
    );
    t.equal(found.length, 1);
  });
}
