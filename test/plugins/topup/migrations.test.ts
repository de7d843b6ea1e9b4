import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { migrate } from "../../../core/database/migrate.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";

const CORE = join(packageRoot, "core/money/ledger/migrations");
const TOPUP = join(packageRoot, "plugins/topup/migrations");
const { log } = recordedLog();

/** Runs the new migrations of a folder, up to the number `last`. */
async function upTo(sql: Sql, folder: string, last: string, table: string): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  try {
    for (const name of readdirSync(folder)) {
      if (name.slice(0, 4) <= last) cpSync(join(folder, name), join(copy, name));
    }
    await migrate(sql, copy, table);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function indexes(sql: Sql): Promise<string[]> {
  const rows = await sql.query<{ name: string }>(
    `select indexname as name from pg_indexes where tablename like 'ledger\\_entries%'
    and indexdef like '%topup%' order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function onNewDatabase(work: (sql: Sql) => Promise<void>): Promise<void> {
  const postgres = await startPostgres();
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 0, log });
  try {
    await work(sql);
  } finally {
    await sql.end(1);
    await postgres.stop();
  }
}

t.test("the index of top-ups", async (t) => {
  t.test("of an existing gateway is kept and renamed when core takes it over", async (t) => {
    await onNewDatabase(async (sql) => {
      const last = "0017"; // Later ones move top-ups to a table of their own.
      await upTo(sql, CORE, "0006", "migrations");
      await upTo(sql, TOPUP, "0001", "topup_migrations");
      const id = "select to_regclass('ledger_entries_topups')::oid::text as id";
      const [before] = await sql.query<{ id: string }>(id);
      await upTo(sql, CORE, last, "migrations");
      await upTo(sql, TOPUP, "9999", "topup_migrations");
      t.strictSame(await indexes(sql), ["ledger_entries_topped_up"]);
      const [after] = await sql.query<{ id: string }>(id.replace("_topups", "_topped_up"));
      assert.ok(before?.id);
      t.equal(after?.id, before.id, "a large ledger is not indexed again");
      await upTo(sql, CORE, "9999", "migrations");
      t.equal((await indexes(sql))[0], "ledger_entries_rest_topped_up");
    });
  });

  t.test("of a new gateway is created once", async (t) => {
    await onNewDatabase(async (sql) => {
      await upTo(sql, CORE, "9999", "migrations");
      const own = ["ledger_entries_rest_topped_up", "ledger_entries_topped_up"];
      t.strictSame(await indexes(sql), own);
      await upTo(sql, TOPUP, "9999", "topup_migrations");
      t.strictSame(await indexes(sql), own);
    });
  });
});
