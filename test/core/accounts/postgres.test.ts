import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { remoteServer } from "../../../core/database/server.ts";
import { createPostgresLedger } from "../../../core/money/ledger/postgres.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import type { LedgerUnderTest } from "../money/ledger/conformance.ts";
import { accountsConformance } from "./conformance.ts";

const { log } = recordedLog();
let postgres: TestPostgres;
let subject: LedgerUnderTest;

t.before(async () => {
  postgres = await startPostgres();
  const ledger = createPostgresLedger({ server: remoteServer(pool(6)), clock: systemClock, log });
  await ledger.start();
  subject = { ledger, sql: pool(4) };
});

t.teardown(async () => {
  await subject.ledger.stop();
  await subject.sql.end(1);
  await postgres.stop();
});

function pool(connectionsMax: number): Sql {
  const server = { url: postgres.url };
  return connect({ server, connectionsMax, statementTimeoutMs: 30_000, log });
}

accountsConformance(t, "postgres", () => subject);
