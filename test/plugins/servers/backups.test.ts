import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { databaseOf } from "../../../core/database/migrate.ts";
import { lastBackup } from "../../../plugins/servers/backups.ts";
import { recordedLog } from "../../support/log.ts";
import { migrateAll } from "../../support/migrations.ts";
import { startPostgres } from "../../support/postgres.ts";

t.test("a ledger that was never backed up is as old as its tables", async (t) => {
  const postgres = await startPostgres();
  const server = { url: postgres.url };
  const { log } = recordedLog();
  const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 30_000, log });
  t.teardown(async () => {
    await sql.end(1);
    await postgres.stop();
  });
  await migrateAll(sql);
  const database = databaseOf(sql);
  await sql.query("update migrations set applied_at = '2026-01-01' where name like '0001%'");
  t.strictSame(await lastBackup(database, false), new Date("2026-01-01"));
  t.equal(await lastBackup(database, true), undefined, "an embedded one has no script");
  await sql.query("insert into backups (at, bytes) values ('2026-02-01', 1), ('2026-01-15', 1)");
  for (const isEmbedded of [false, true]) {
    t.strictSame(await lastBackup(database, isEmbedded), new Date("2026-02-01"));
  }
});
