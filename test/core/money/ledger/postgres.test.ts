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
import { startPostgres } from "../../../support/postgres.ts";
import { startPostgresServer } from "../../../support/postgres-server.ts";
import { refusedCallsTests } from "../../usage/refused-calls.ts";
import { usageBooksTests } from "../../usage/usage-books.ts";
import { commitTests } from "./commit.ts";
import { creditTests } from "./credit.ts";
import { epochsTests } from "./epochs.ts";
import { AT, charge, fundedAccount } from "./fixtures.ts";
import { guardTests } from "./guards.ts";
import { historyTests } from "./history.ts";
import { proofTests } from "./proof.ts";
import { purseTests } from "./purses.ts";
import { quarantineTests } from "./quarantine.ts";
import { topUpTests } from "./top-ups.ts";
import { usageTests } from "./usage.ts";

const clock = { now: () => AT, monotonic: () => 0 };
const { log } = recordedLog();

function pool(connectionsMax: number, url: string): Sql {
  return connect({ server: { url }, connectionsMax, statementTimeoutMs: 30_000, log });
}

function ledgerOn(sql: Sql): PostgresLedger {
  return createPostgresLedger({ server: remoteServer(sql), clock, log });
}

t.test("the ledger on Postgres", async (t) => {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  // Ten processes start at once on a new database; all become ready.
  const ledgers = Array.from({ length: 10 }, () => ledgerOn(pool(2, postgres.url)));
  await Promise.all(ledgers.map((ledger) => ledger.start()));
  await Promise.all(ledgers.map((ledger) => ledger.stop()));
  const ledger = ledgerOn(pool(6, postgres.url));
  await ledger.start();
  /** A separate connection to check its tables. */
  const sql = pool(4, postgres.url);
  t.teardown(async () => {
    await ledger.stop();
    await sql.end(1);
  });
  const subject = { ledger, sql };
  commitTests(t, subject);
  quarantineTests(t, subject);
  creditTests(t, subject);
  purseTests(t, subject);
  topUpTests(t, subject);
  usageTests(t, subject);
  usageBooksTests(t, subject);
  refusedCallsTests(t, subject);
  guardTests(t, subject);
  historyTests(t, subject);
  epochsTests(t, subject);
  proofTests(t, subject);

  t.test("migrations are applied once, and a changed or missing file is refused", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-migrations-"));
    try {
      cpSync(join(packageRoot, "core/database/migrations"), folder, { recursive: true });
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
