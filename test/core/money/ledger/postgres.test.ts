import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect, type Sql } from "../../../../core/database/client.ts";
import { migrate } from "../../../../core/database/migrate.ts";
import { remoteServer } from "../../../../core/database/server.ts";
import {
  createPostgresLedger,
  type PostgresLedger,
} from "../../../../core/money/ledger/postgres.ts";
import { packageRoot } from "../../../../core/process/root.ts";
import { recordedLog } from "../../../support/log.ts";
import { startPostgres, type TestPostgres } from "../../../support/postgres.ts";
import { startPostgresServer } from "../../../support/postgres-server.ts";
import { type LedgerUnderTest, ledgerConformance } from "./conformance.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";

const clock = { now: () => AT, monotonic: () => 0 };
const { log } = recordedLog();

let postgres: TestPostgres;
let subject: LedgerUnderTest;

t.before(async () => {
  postgres = await startPostgres();
  // Ten processes start at once on a new database; all become ready.
  const ledgers = Array.from({ length: 10 }, () => ledgerOn(pool(2)));
  await Promise.all(ledgers.map((ledger) => ledger.start()));
  await Promise.all(ledgers.map((ledger) => ledger.stop()));
  const ledger = ledgerOn(pool(6));
  await ledger.start();
  subject = { ledger, sql: pool(4) };
});

t.teardown(async () => {
  await subject.ledger.stop();
  await subject.sql.end(1);
  await postgres.stop();
});

function pool(connectionsMax: number, url = postgres.url): Sql {
  return connect({
    server: { url },
    connectionsMax,
    statementTimeoutMs: 30_000,
    log,
  });
}

function ledgerOn(sql: Sql): PostgresLedger {
  return createPostgresLedger({ server: remoteServer(sql), clock, log });
}

ledgerConformance(t, "postgres", () => subject);

t.test("migrations are applied once, and a changed or missing file is refused", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
  try {
    cpSync(join(packageRoot, "core/database/migrations"), folder, { recursive: true });
    const { sql } = subject;
    t.strictSame(await migrate(sql, folder), []);
    writeFileSync(join(folder, "9998-more.sql"), "create table more (id integer)");
    writeFileSync(join(folder, "9999-broken.sql"), "create table more_still (id integer); oops");
    await t.rejects(migrate(sql, folder), /syntax error/);
    // The migration before it stays applied; the broken one is rolled back.
    t.strictSame(await sql.query("select to_regclass('more_still') as found"), [{ found: null }]);
    rmSync(join(folder, "9999-broken.sql"));
    t.strictSame(await migrate(sql, folder), []);
    writeFileSync(join(folder, "9998-more.sql"), "create table less (id integer)");
    await t.rejects(migrate(sql, folder), /9998-more.sql has changed since it was applied/);
    rmSync(join(folder, "9998-more.sql"));
    await t.rejects(migrate(sql, folder), /has applied 9998-more.sql/);
    await sql.query("drop table more");
    await sql.query("delete from migrations where name = '9998-more.sql'");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

t.test("the ledger reconnects to a server that was killed and restarted", async (t) => {
  const server = await startPostgresServer();
  const ledger = ledgerOn(pool(6, server.url));
  await ledger.start();
  const a = await fundedAccount(ledger, 100n);
  await server.kill();
  await t.rejects(ledger.ping(2_000));
  await t.rejects(ledger.commit([charge(a, 1)]));
  await server.restart();
  await ledger.ping(5_000);
  await ledger.commit([charge(a, 1)]);
  await ledger.stop();
  await server.stop();
});
