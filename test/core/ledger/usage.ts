import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../../core/id.ts";
import type { LedgerUnderTest } from "./conformance.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";

const MONTH_MS = 31 * 86_400_000;

export function usageTests(get: () => LedgerUnderTest): void {
  test("a record comes back as it was posted", async () => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    const entry = charge(a, 10, {
      callId: newId(AT),
      keyId: newId(AT),
      at: AT + 123,
      endpoint: "/v1/chat/completions",
      model: "svc/model",
      mappedFrom: "alias",
      upstream: null,
      inputTokens: 5_000_000_000,
      cacheReadTokens: 2,
      cacheWriteTokens: 3,
      outputTokens: 4,
      reasoningTokens: 5,
      images: 6,
      discountBps: 200,
      latencyMs: 1_234.567,
      firstByteMs: null,
      status: 499,
      streamed: false,
      outcome: "gone",
      estimated: true,
    });
    await ledger.settle([entry]);
    const [record] = await ledger.usage({ accountId: a, limit: 10 });
    const { accountId, costMicroVnd, ...posted } = entry.posting;
    assert.deepEqual(
      { ...record },
      {
        ...posted,
        at: new Date(AT + 123),
        chargedMicroVnd: BigInt(costMicroVnd),
        writtenOffMicroVnd: 0n,
      },
    );
    assert.equal(accountId, a);
  });

  test("records come newest first, page by page, over the months", async () => {
    const { ledger } = get();
    const a = await fundedAccount(ledger, 1_000n);
    const times = [0, 0, 0, 1, 1, MONTH_MS, 2 * MONTH_MS, -5 * MONTH_MS, 40 * MONTH_MS];
    const entries = times.map((offset) => charge(a, 1, { at: AT + offset }));
    await ledger.settle(entries);
    const expected = entries
      .map(({ posting }) => ({ at: posting.at, callId: posting.callId }))
      .sort((x, y) => y.at - x.at || (x.callId < y.callId ? 1 : -1))
      .map(({ callId }) => callId);
    const found: string[] = [];
    let page = await ledger.usage({ accountId: a, limit: 2 });
    while (page.length > 0) {
      found.push(...page.map((record) => record.callId));
      const { at, callId } = page.at(-1)!;
      page = await ledger.usage({ accountId: a, limit: 2, before: { at, callId } });
    }
    assert.deepEqual(found, expected);
  });

  test("every month has a partition of its own, made ahead", async () => {
    const { sql } = get();
    const rows = await sql.query<{ name: string }>(`
      select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'usage_records'::regclass order by 1`);
    const names = rows.map((row) => row.name);
    for (const month of ["2025_06", "2025_07", "2025_08"]) {
      assert.ok(names.includes(`usage_records_${month}`), `${month} in ${names.join(" ")}`);
    }
  });

  test("many may make one partition at once", async () => {
    const { sql } = get();
    await Promise.all(
      Array.from({ length: 10 }, () =>
        sql.query("select make_usage_partition('2031-01-31T23:59:59Z')"),
      ),
    );
    const [row] = await sql.query<{ bounds: string }>(`
      select pg_get_expr(relpartbound, oid) as bounds from pg_class
      where relname = 'usage_records_2031_01'`);
    assert.match(row?.bounds ?? "", /2031-01-01.*2031-02-01/);
  });
}
