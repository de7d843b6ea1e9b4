import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import t from "tap";
import type { OutboxEntry } from "../../../core/money/outbox-entry.ts";
import { newId } from "../../../core/process/id.ts";
import { dayOf } from "../../../core/process/vietnam-day.ts";
import type { MonthRow } from "../../../core/usage/books.ts";
import { usageBooksOf } from "../../../core/usage/usage-books.ts";
import { Random } from "../../support/random.ts";
import { charge, debit, fundedAccount, topUp } from "../money/ledger/fixtures.ts";
import { startTestLedger } from "../money/ledger/test-ledger.ts";

const DAY_MS = 86_400_000;
const CURRENT = dayOf(new Date()).slice(0, 7);
const random = Random.printed();

/** A row of the ledger, with the record of its call. */
interface LedgerRow {
  readonly account: string;
  readonly month: string;
  readonly amount: bigint;
  readonly balance: bigint;
  readonly charged: bigint | null;
  readonly model: string | null;
}

t.test("statements by month", async (t) => {
  const accounts: string[] = [];

  async function commit(entries: readonly OutboxEntry[]): Promise<void> {
    await books.ledger.commit(entries);
  }

  const someCharge = (account: string) => {
    const at = Date.now() - random.below(30_000);
    const model = random.pick(["a", "b", "c"]);
    return charge(account, random.below(90), { callId: newId(at), at, model });
  };

  /** Makes one random movement, or some charges. */
  async function step(account: string): Promise<void> {
    const { ledger } = books;
    const dice = random.below(10);
    if (dice < 2) await ledger.credit(topUp(account, BigInt(1 + random.below(9_000))));
    else if (dice < 4) await ledger.commit([debit(account, BigInt(1 + random.below(50)))]);
    else await commit(Array.from({ length: 1 + random.below(12) }, () => someCharge(account)));
  }

  /** Lets the rows of an account after `id` have been committed over some days, in their order, from a time on. */
  async function spread(account: string, after: bigint, from: number, days: number) {
    await books.sql.script(`
      set session_replication_role = replica;
      update ledger_entries entry set at = to_timestamp(${from / 1_000}) + part * interval '${days} days'
        from (
          select id, (row_number() over (order by id) - 1)::float8 / count(*) over () as part
          from ledger_entries where account_id = '${account}' and id > ${after}
        ) placed
        where placed.id = entry.id;
      reset session_replication_role;
    `);
  }

  async function lastId(account: string): Promise<bigint> {
    const [row] = await books.sql.query<{ id: bigint }>(
      "select coalesce(max(id), 0)::bigint as id from ledger_entries where account_id = $1",
      [account],
    );
    return row?.id ?? 0n;
  }

  /** Does what a gateway does, and returns how many statements it closed. */
  async function closeAll(): Promise<number> {
    let closed = 0;
    for (let after: string | undefined; ; ) {
      const page = await months.due(CURRENT, after);
      if (page.length === 0) return closed;
      after = page.at(-1)?.account;
      for (const { account, isDue } of page) {
        if (!isDue) continue;
        for (let found = await months.add(account, CURRENT); found !== "none"; ) {
          if (found !== "more") {
            const hash = createHash("sha256").update(`${found.previousDigest} ${found.month}`);
            for await (const rows of months.rows(found, { mustAddUp: true }))
              for (const { amountMicroVnd, model } of rows)
                hash.update(`${amountMicroVnd} ${model}`);
            if (await months.close(found, hash.digest("hex"), "{}")) closed += 1;
          }
          found = await months.add(account, CURRENT);
        }
      }
    }
  }

  async function rowsOf(account: string, month: string): Promise<MonthRow[]> {
    const statement = await months.find(account, month);
    assert.ok(statement, month);
    const all: MonthRow[] = [];
    for await (const rows of months.rows(statement, { mustAddUp: true })) all.push(...rows);
    return all;
  }

  async function ledgerRows(account: string): Promise<LedgerRow[]> {
    return books.sql.query(
      `select entry.account_id::text as account, amount, balance_after as balance, charged, model,
        to_char(entry.at at time zone 'Asia/Ho_Chi_Minh', 'YYYY-MM') as month
      from ledger_entries entry left join usage_records using (call_id)
      where entry.account_id = $1 order by id`,
      [account],
    );
  }

  const books = await startTestLedger(6);
  t.teardown(() => books.stop());
  await books.ledger.start();
  const months = usageBooksOf(books.ledger.database).months;
  await months.prepare();
  for (let n = 0; n < 4; n++) {
    const account = await fundedAccount(books.ledger, 1_000_000n);
    accounts.push(account);
    for (let steps = 0; steps < 40; steps++) await step(account);
    await spread(account, 0n, Date.now() - 130 * DAY_MS, 120);
  }
  const [busy = ""] = accounts;
  const before = await lastId(busy);
  await commit(Array.from({ length: 5_000 }, () => someCharge(busy)));
  await spread(busy, before, Date.now() - 8 * DAY_MS, 7);

  t.test("are closed once, though three gateways close them at once", async (t) => {
    const counts = await Promise.all([closeAll(), closeAll(), closeAll()]);
    const found = await Promise.all(accounts.map((account) => months.list(account)));
    t.equal(
      counts.reduce((sum, count) => sum + count),
      found.flat().length,
    );
    t.equal(await closeAll(), 0);
  });

  t.test("have the rows of the ledger and the sums of the usage records", async (t) => {
    let closedMonths = 0;
    for (const account of accounts) {
      const ledger = await ledgerRows(account);
      const list = (await months.list(account)).toReversed();
      const over = [...new Set(ledger.map(({ month }) => month))].filter((one) => one < CURRENT);
      t.strictSame(
        list.map(({ month, number }) => [month, number]),
        over.sort().map((month, at) => [month, at + 1]),
      );
      let opening = 0n;
      let digest: string | null = null;
      for (const statement of list) {
        closedMonths += 1;
        const own = ledger.filter(({ month }) => month === statement.month);
        const rows = await rowsOf(account, statement.month);
        t.strictSame(
          [statement.openingMicroVnd, statement.closingMicroVnd, statement.previousDigest],
          [opening, own.at(-1)?.balance, digest],
        );
        const movements = rows.filter(({ kind }) => kind !== "charges");
        t.strictSame(
          movements.map(({ amountMicroVnd, balanceMicroVnd }) => [amountMicroVnd, balanceMicroVnd]),
          own.filter(({ charged }) => charged === null).map((row) => [row.amount, row.balance]),
        );
        for (const model of ["a", "b", "c"]) {
          const charges = rows.filter((row) => row.model === model);
          const records = own.filter((row) => row.model === model);
          t.strictSame(
            [
              charges.reduce((sum, { calls }) => sum + calls, 0),
              charges.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n),
            ],
            [records.length, -records.reduce((sum, { charged }) => sum + (charged ?? 0n), 0n)],
          );
        }
        t.equal(rows.at(-1)?.balanceMicroVnd, statement.closingMicroVnd);
        opening = statement.closingMicroVnd;
        digest = statement.digest;
      }
    }
    t.ok(closedMonths >= 12, `${closedMonths}`);
  });

  t.test("take a row of a closed month that is committed late into the next month", async (t) => {
    const [, account = ""] = accounts;
    const [last] = await months.list(account);
    assert.ok(last);
    const before = await rowsOf(account, last.month);
    const id = await lastId(account);
    await books.ledger.credit(topUp(account, 77n));
    await spread(account, id, Date.parse(`${last.month}-02T00:00:00Z`), 0);
    await closeAll();
    t.strictSame(await rowsOf(account, last.month), before);
    t.equal((await months.list(account)).length, last.number);
    const [first] = await books.sql.query<{ month: string }>(
      "select to_char((month || '-01')::date + interval '1 month', 'YYYY-MM') as month from statement_months where account_id = $1 order by number desc limit 1",
      [account],
    );
    // As if that month had ended.
    const whole = await months.add(account, "2100-01");
    assert.ok(typeof whole === "object");
    t.equal(whole.month, first?.month);
    for await (const [row] of months.rows(whole, { mustAddUp: true })) {
      t.equal(row?.day.slice(0, 7), whole.month);
      break;
    }
  });

  t.test("come in lists of at most 1,000 rows, however many they have", async (t) => {
    const account = await fundedAccount(books.ledger, 1n);
    await books.sql.query(
      `insert into ledger_entries_rest (account_id, kind, amount, balance_after, reference)
      select $1, 'topup', 1, n + 1, 'many-' || n from generate_series(1, 2500) n`,
      [account],
    );
    await spread(account, 0n, Date.now() - 45 * DAY_MS, 1);
    await closeAll();
    const statements = await months.list(account);
    const lists: number[] = [];
    for (const statement of statements)
      for await (const rows of months.rows(statement, { mustAddUp: true })) lists.push(rows.length);
    t.equal(
      lists.reduce((sum, length) => sum + length),
      2_501,
    );
    t.ok(Math.max(...lists) <= 1_000);
    t.equal(statements[0]?.closingMicroVnd, 2_501n);
  });

  t.test("never change once they are closed: the database refuses it", async (t) => {
    const account = accounts[2] ?? "";
    for (const change of [
      "update statement_rows set amount = amount + 1 where account_id = $1 and number = 1",
      "delete from statement_rows where account_id = $1 and number = 1",
      "insert into statement_rows (account_id, number, segment, is_charges, day, amount) values ($1, 1, 9999, false, now(), 1)",
      "update statement_months set closing = 0 where account_id = $1",
      "delete from statement_months where account_id = $1",
    ])
      await t.rejects(books.sql.query(change, [account]), /never changes|append-only/, change);
  });

  t.test("are not closed if an amount was changed by hand", async (t) => {
    const account = await fundedAccount(books.ledger, 500n);
    await spread(account, 0n, Date.now() - 40 * DAY_MS, 0);
    await months.add(account, CURRENT);
    await books.sql.query("update statement_rows set amount = amount + 1 where account_id = $1", [
      account,
    ]);
    await t.rejects(closeAll(), /does not add up: 501 µđ by its rows, 500 µđ by the ledger/);
    const whole = await months.add(account, CURRENT);
    assert.ok(typeof whole === "object");
    await months.discard(whole);
    t.ok((await closeAll()) >= 1);
    const [made] = await months.list(account);
    t.strictSame([made?.number, made?.closingMicroVnd], [1, 500n]);
  });
});
