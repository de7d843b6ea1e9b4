import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect } from "../../../core/database/client.ts";
import { migrate } from "../../../core/database/migrate.ts";
import { recordedLog } from "../../support/log.ts";
import { OWN_LOCKS, OWN_STATEMENTS, startPostgres } from "../../support/postgres.ts";

const LOCKS = `select from ${OWN_LOCKS} where locktype = 'advisory'`;
const STATEMENT_TIMEOUT_MS = 1_000;
/** Ends once another process has waited for the lock for much longer than its statements may take. */
const LONG_MIGRATION = `
  set local statement_timeout = '120s';
  do $$ begin
    while not exists (
      ${LOCKS} and not granted and waitstart < clock_timestamp() - interval '3 s'
    ) loop
    end loop;
  end $$`;

t.test("a start waits for another one whose migration takes long", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  const postgres = await startPostgres();
  const open = () =>
    connect({
      server: { url: postgres.url },
      connectionsMax: 2,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      log: recordedLog().log,
    });
  const [one, two] = [open(), open()];
  t.teardown(async () => {
    await one.end(1);
    await two.end(1);
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  writeFileSync(join(folder, "0001-long.sql"), LONG_MIGRATION);
  const first = migrate(one, folder);
  const runs = `select from ${OWN_STATEMENTS} where query like '%0001-long%' and pid <> pg_backend_pid()`;
  while ((await two.query(`${LOCKS} and granted and exists (${runs})`)).length === 0);
  const second = migrate(two, folder);
  t.strictSame(await Promise.allSettled([first, second]), [
    { status: "fulfilled", value: ["0001-long.sql"] },
    { status: "fulfilled", value: [] },
  ]);
});
