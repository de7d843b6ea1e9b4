import t from "tap";
import { connect, type Sql, sqlState } from "../../../../core/database/client.ts";
import { migrate } from "../../../../core/database/migrate.ts";
import { remoteServer } from "../../../../core/database/server.ts";
import { archiveOf } from "../../../../core/money/ledger/archive.ts";
import {
  createPostgresLedger,
  type PostgresLedger,
} from "../../../../core/money/ledger/postgres.ts";
import { sums } from "../../../../core/money/ledger/sums.ts";
import { EntryRefused } from "../../../../core/money/ledger.ts";
import { newId } from "../../../../core/process/id.ts";
import { recordedLog } from "../../../support/log.ts";
import { OWN_LOCKS } from "../../../support/postgres.ts";
import { archive, detach } from "./archive-steps.ts";
import { agreedBalance, balance, charge, fundedAccount, proveFromStart } from "./fixtures.ts";
import { startTestLedger, type TestLedger } from "./test-ledger.ts";

const JANUARY = Date.UTC(2026, 0, 31, 23, 59, 59, 999);

async function partitionsOf(sql: Sql, table: string): Promise<string[]> {
  const rows = await sql.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
    where inhparent = $1::text::regclass order by 1`,
    [table],
  );
  return rows.map(({ name }) => name);
}

async function drift(sql: Sql): Promise<bigint[]> {
  const found: bigint[] = [];
  for await (const sum of sums(sql)) found.push(sum.entriesMicroVnd - sum.balanceMicroVnd);
  return found.filter((amount) => amount !== 0n);
}

t.test("a ledger with a partition for each month", async (t) => {
  let books: TestLedger;
  let sql: Sql;
  let ledger: PostgresLedger;

  t.beforeEach(async () => {
    books = await startTestLedger(3);
    ({ ledger, sql } = books);
  });
  t.afterEach(async () => {
    await books.stop();
  });

  t.test(
    "keeps a call in the month of its id, and charges it once whatever its time",
    async (t) => {
      await ledger.start();
      const a = await fundedAccount(ledger, 100n);
      const callId = newId(JANUARY);
      await ledger.commit([charge(a, 10, { callId, at: JANUARY + 1 })]);
      await ledger.commit([charge(a, 10, { callId, at: JANUARY + 86_400_000 * 40 })]);
      t.equal(await agreedBalance(ledger, a), 90n);
      const parts = await sql.query<{ part: string }>(
        "select tableoid::regclass::text as part from ledger_entries where call_id = $1",
        [callId],
      );
      t.strictSame(parts, [{ part: "ledger_entries_2026_01" }]);
      const [usage] = await sql.query("select tableoid::regclass::text as part from usage_records");
      t.strictSame(usage, { part: "usage_records_2026_02" });
      await ledger.prove();
      t.strictSame(await drift(sql), []);
    },
  );

  t.test("refuses a change of a row in any partition", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 100n);
    await ledger.commit([charge(a, 10, { callId: newId(JANUARY), at: JANUARY })]);
    for (const part of await partitionsOf(sql, "ledger_entries")) {
      for (const text of [`update ${part} set amount = amount`, `delete from ${part}`]) {
        await t.rejects(sql.query(text), /append-only/, text);
      }
    }
    t.equal(await balance(ledger, a), 90n);
  });

  t.test("reads and plans only for the months of a batch, of 85", async (t) => {
    await ledger.start();
    await sql.query(
      "select make_usage_partition(now() - n * interval '1 month') from generate_series(1, 85) n",
    );
    t.ok((await partitionsOf(sql, "ledger_entries")).length > 85);
    const a = await fundedAccount(ledger, 100n);
    const { text, posting } = charge(a, 1, { callId: newId(Date.now()), at: Date.now() });
    const [{ locks } = { locks: -1 }] = await sql.query<{ locks: number }>(
      `select (
        select count(distinct relation)::integer from ${OWN_LOCKS} join pg_class on pg_class.oid = relation
        where pid = pg_backend_pid() and relkind = 'r' and settled is not null
          and relname similar to '(ledger_entries|usage_records)_%'
      ) as locks
      from (
        select settle_calls($1::text::uuid[], $2::text::uuid[], $3::text::json)::text as settled offset 0
      ) done`,
      [`{${a}}`, `{${posting.callId}}`, `[${text}]`],
    );
    t.equal(locks, 2, "one partition of each table is locked");
    t.equal(await agreedBalance(ledger, a), 99n);
  });

  t.test("refuses a charge whose month has no partition, and nothing else", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 100n);
    const text = `insert into ledger_entries (account_id, kind, amount, balance_after, call_id)
      values ($1, 'charge', -1, 99, $2)`;
    const state = await sql.query(text, [a, newId(Date.UTC(2021, 3))]).then(
      () => "done",
      (error: unknown) => sqlState(error),
    );
    t.equal(state, "23514");
    t.equal(await agreedBalance(ledger, a), 100n);
  });

  t.test("makes no table of an archived month, called by hand or during its close", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 100n);
    const call = charge(a, 10, { callId: newId(JANUARY), at: JANUARY });
    await ledger.commit([call]);
    t.strictSame(await archive(sql, "2026-01"), ["closed", "detached", "dropped"]);
    await t.rejects(
      sql.query("select make_usage_partition('2026-01-31 23:59Z')"),
      /month 2026-01 is archived/,
    );
    // The month is closed while the maker waits: it has found no archived month before.
    const closing = sql.script(`
      select pg_advisory_xact_lock(hashtext('make_usage_partition'));
      insert into archived_months (month, state) values ('2025-05', 'dropped');
      do $$ begin
        while not exists (select from ${OWN_LOCKS} where locktype = 'advisory' and not granted) loop
        end loop;
      end $$`);
    const held = `select from ${OWN_LOCKS} where locktype = 'advisory' and granted`;
    while ((await sql.query(held)).length === 0);
    await t.rejects(
      sql.query("select make_usage_partition('2025-05-05Z')"),
      /month 2025-05 is archived/,
    );
    await closing;
    await ledger.commit([call]);
    const late = charge(a, 10, { callId: newId(JANUARY), at: JANUARY });
    await t.rejects(ledger.commit([late]), EntryRefused);
    await ledger.quarantine(call, "archived");
    t.equal(await ledger.quarantined(), 0, "its charge is in the ledger still");
    t.equal(await agreedBalance(ledger, a), 90n);
  });

  for (const state of ["closed", "detached", "dropped"]) {
    t.test(`takes the calls of a month that is ${state} again after a crash`, async (t) => {
      await ledger.start();
      const a = await fundedAccount(ledger, 100n);
      const of = (microVnd: number) => charge(a, microVnd, { callId: newId(JANUARY), at: JANUARY });
      const [charged, free] = [of(10), of(0)];
      const began = { callId: newId(JANUARY), at: JANUARY + 1 };
      const between = [charge(a, 3, began), charge(a, 0, { ...began, callId: newId(JANUARY) })];
      await ledger.commit([charged, free, ...between]);
      const known = archiveOf(sql);
      await known.close("2026-01");
      if (state !== "closed") await detach(sql, "2026-01");
      if (state === "dropped") await known.drop("2026-01");

      const log = recordedLog().log;
      const clock = { now: Date.now, monotonic: () => 0 };
      const next = createPostgresLedger({ server: remoteServer(sql), clock, log });
      await next.commit([charged, charge(a, 7), free, ...between]);
      t.equal(await agreedBalance(next, a), 80n);
      t.equal(await next.hasCall(charged.posting), true, "Redis does not charge it again either");

      // An earlier version put such calls into quarantine.
      await next.quarantine(free, "for a test");
      t.equal(await next.commitQuarantined(free.posting.callId), true);
      t.equal(await next.quarantined(), 0);

      await t.rejects(next.commit([of(10)]), EntryRefused, "a charge that is new is not lost");
      const late = next.commit([of(0)]);
      // After `reopen` a closed month takes it.
      if (state === "closed") await t.rejects(late, EntryRefused);
      else await t.resolves(late);
      t.equal(await agreedBalance(next, a), 80n);
    });
  }

  t.test("keeps charges of a wrong clock apart, each once", async (t) => {
    await ledger.start();
    const a = await fundedAccount(ledger, 100n);
    const times = [Date.UTC(2038, 1), Date.UTC(2099, 11), Date.UTC(2100, 0), Date.UTC(2019, 11)];
    const calls = times.map((time) => charge(a, 7, { callId: newId(time), at: JANUARY }));
    await ledger.commit(calls);
    await ledger.commit(calls);
    t.equal(await agreedBalance(ledger, a), 72n);
    const where = "select tableoid::regclass::text as part from ledger_entries where call_id = $1";
    const parts = await Promise.all(
      calls.map(async ({ posting }) => {
        return (await sql.query<{ part: string }>(where, [posting.callId]))[0]?.part;
      }),
    );
    t.strictSame(
      parts,
      ["2038_02", "2099_12", "rest", "rest"].map((name) => `ledger_entries_${name}`),
    );
    await proveFromStart(ledger);
    t.strictSame(await drift(sql), []);
  });

  t.test("starts on a disk that takes longer for a month than a statement may", async (t) => {
    await migrate(sql);
    const statementTimeoutMs = 2_000;
    await sql.script(`create table slow_disk ();
      create function slow_down() returns event_trigger language plpgsql as $$
      begin
        if to_regclass('slow_disk') is not null and current_query() like '%make_usage_partition%' then
          drop table slow_disk;
          perform pg_sleep(${statementTimeoutMs / 1_000} + 0.5);
        end if;
      end $$;
      create event trigger slow_down on ddl_command_start when tag in ('CREATE TABLE')
        execute function slow_down()`);
    const { log } = recordedLog();
    const server = { url: books.url };
    const slow = connect({ server, connectionsMax: 2, statementTimeoutMs, log });
    const clock = { now: Date.now, monotonic: () => 0 };
    const starting = createPostgresLedger({ server: remoteServer(slow), clock, log });
    t.teardown(() => starting.stop());
    await t.resolves(starting.start());
    t.equal((await partitionsOf(sql, "usage_records")).length, 3);
  });

  t.test("starts while a backup reads the movements, and makes months later", async (t) => {
    await migrate(sql);
    const read = sql.script(`lock table ledger_entries_rest in access share mode;
      do $$ begin
        while not exists (select from pg_class where relname = 'backup_is_done') loop end loop;
      end $$`);
    const held = `select from ${OWN_LOCKS} where relation = 'ledger_entries_rest'::regclass and granted`;
    while ((await sql.query(held)).length === 0);
    await t.resolves(ledger.start());
    await sql.query("create table backup_is_done ()");
    await read;
  });
});
