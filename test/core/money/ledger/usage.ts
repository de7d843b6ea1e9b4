import type { Test } from "tap";
import { type FieldKind, usageFieldList } from "../../../../core/money/usage-fields.ts";
import { newId } from "../../../../core/process/id.ts";
import { AT, charge, fundedAccount, type LedgerUnderTest } from "./fixtures.ts";

const MONTH_MS = 31 * 86_400_000;

/** The Postgres type of each kind of column, as `information_schema` names it. */
const sqlTypes: Readonly<Record<FieldKind, string>> = {
  id: "uuid",
  time: "timestamp with time zone",
  text: "text",
  sent: "text",
  outcome: "text",
  unit: "text",
  tokens: "bigint",
  count: "integer",
  bps: "integer",
  ms: "double precision",
  status: "smallint",
  flag: "boolean",
  quantity: "bigint",
  money: "bigint",
  factors: "json",
  discounts: "json",
  names: "json",
};

export function usageTests(t: Test, { ledger, sql }: LedgerUnderTest): void {
  t.test("a record is read as it was posted", async (t) => {
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
      unit: "mtok",
      unitPriceMicroVnd: 36_000_000_000,
      quantity: 7,
      discounts: { account: 100, 'a "name", ü': 100 },
      feesMicroVnd: 3,
      catalogueVersion: "0123abcd",
      purses: ["key:K", "day:2025-06-15"],
    });
    await ledger.commit([entry]);
    const [record] = await ledger.usage({ accountId: a, limit: 10 });
    const { costMicroVnd, ...posted } = entry.posting;
    const expected = {
      ...posted,
      at: new Date(AT + 123),
      chargedMicroVnd: BigInt(costMicroVnd),
      writtenOffMicroVnd: 0n,
      unitPriceMicroVnd: 36_000_000_000n,
      feesMicroVnd: 3n,
    };
    t.strictSame({ ...record }, expected);
    t.strictSame({ ...(await ledger.call(entry.posting.callId)) }, expected);
  });

  t.test(
    "the columns of the records match the fields of the table by name, type and nullability",
    async (t) => {
      const columns = await sql.query<{ name: string; type: string; nullable: boolean }>(`
      select column_name::text as name, data_type::text as type, is_nullable = 'YES' as nullable
      from information_schema.columns
      where table_name = 'usage_records' order by 1`);
      const fields = usageFieldList.map(({ column, kind, nullable }) => ({
        name: column,
        type: sqlTypes[kind],
        nullable: nullable === true,
      }));
      t.strictSame(
        columns.map((column) => ({ ...column })),
        fields.sort((x, y) => (x.name < y.name ? -1 : 1)),
      );
    },
  );

  t.test("fields left out of a record to save space are filled in when it is read", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const priced = { unit: "mtok", unitPriceMicroVnd: 1_000_000 } as const;
    const entry = charge(a, 10, { ...priced, inputTokens: 8, outputTokens: 2 });
    await ledger.commit([entry]);
    const { callId } = entry.posting;
    const [stored] = await sql.query<object>(
      "select factors, quantity_millionths, fees, discounts from usage_records where call_id = $1",
      [callId],
    );
    t.strictSame(
      { ...stored },
      { factors: null, quantity_millionths: null, fees: null, discounts: null },
    );
    const record = await ledger.call(callId);
    t.strictSame([record?.quantity, record?.feesMicroVnd], [10_000_000, 0n]);
  });

  t.test(
    "a call is found by its id, whenever it began, and an unknown id finds none",
    async (t) => {
      const a = await fundedAccount(ledger, 1_000n);
      for (const at of [AT, AT + 1, AT + 30_000, AT + 7 * MONTH_MS]) {
        const entry = charge(a, 1, { callId: newId(at > AT + MONTH_MS ? at : AT), at });
        await ledger.commit([entry]);
        const found = await ledger.call(entry.posting.callId);
        t.strictSame([found?.callId, found?.at.getTime()], [entry.posting.callId, at]);
      }
      for (const id of [newId(AT), "x", "ffffffff-ffff-7fff-8fff-ffffffffffff"]) {
        t.equal(await ledger.call(id), undefined, id);
      }
    },
  );

  t.test("records are returned newest first, page by page, across months", async (t) => {
    const a = await fundedAccount(ledger, 1_000n);
    const times = [0, 0, 0, 1, 1, MONTH_MS, 2 * MONTH_MS, -5 * MONTH_MS, 40 * MONTH_MS];
    const entries = times.map((offset) => charge(a, 1, { at: AT + offset }));
    await ledger.commit(entries);
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
    t.strictSame(found, expected);
  });

  t.test("concurrent processes can create one partition", async (t) => {
    await Promise.all(
      Array.from({ length: 10 }, () =>
        sql.query("select make_usage_partition('2031-01-31T23:59:59Z')"),
      ),
    );
    const [row] = await sql.query<{ bounds: string }>(`
      select pg_get_expr(relpartbound, oid) as bounds from pg_class
      where relname = 'usage_records_2031_01'`);
    t.match(row?.bounds ?? "", /2031-01-01.*2031-02-01/);
  });

  t.test(
    "the day's totals are the sums of the records, even if a call is committed repeatedly",
    async (t) => {
      const [a, b] = [await fundedAccount(ledger, 1_000n), await fundedAccount(ledger, 1_000n)];
      const [one, two] = [newId(AT), newId(AT)];
      // 16:59:59.999 UTC is the last millisecond of a day in Vietnam.
      const midnight = Date.UTC(2025, 5, 15, 17);
      const entries = [
        charge(a, 10, { keyId: one, model: "m1", at: midnight - 1 }),
        charge(a, 20, { keyId: one, model: "m1", at: midnight }),
        charge(a, 30, { keyId: one, model: "m1", at: midnight + 5 }),
        charge(a, 0, { keyId: two, model: "m1", at: midnight, status: 502 }),
        charge(a, 40, { keyId: two, model: "m2", at: midnight, inputTokens: 5_000_000_000 }),
        charge(b, 50, { keyId: one, model: "m1", at: midnight }),
      ];
      await ledger.commit(entries.slice(0, 3));
      await Promise.all(Array.from({ length: 5 }, () => ledger.commit(entries)));
      await ledger.commit([...entries, ...entries]);
      const rows = await sql.query<Total>(TOTALS, [a]);
      const name = { [one]: "one", [two]: "two" };
      t.strictSame(
        rows.map((row) => [row.day, row.model, name[row.key], row.calls, row.charged]),
        [
          ["2025-06-15", "m1", "one", 1n, 10n],
          ["2025-06-16", "m1", "one", 2n, 50n],
          ["2025-06-16", "m1", "two", 1n, 0n],
          ["2025-06-16", "m2", "two", 1n, 40n],
        ],
      );
      t.strictSame(
        rows.map((row) => [row.input, row.output]),
        [
          [1_200n, 340n],
          [2_400n, 680n],
          [1_200n, 340n],
          [5_000_000_000n, 340n],
        ],
      );
      t.equal(rows[1]?.last.getTime(), midnight + 5);
      t.strictSame(
        (await sql.query<Total>(TOTALS, [b])).map((row) => row.charged),
        [50n],
      );
    },
  );
}

interface Total {
  readonly day: string;
  readonly model: string;
  readonly key: string;
  readonly calls: bigint;
  readonly input: bigint;
  readonly output: bigint;
  readonly charged: bigint;
  readonly last: Date;
}

const TOTALS = `
  select day::text, model, key_id as key, calls, input_tokens as input, output_tokens as output, charged,
    last_at as last
  from usage_daily where account_id = $1 order by day, model, charged desc`;
