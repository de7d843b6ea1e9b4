import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connect, type Sql } from "../../../core/database/client.ts";
import { EmbeddedDatabase } from "../../../core/database/embedded.ts";
import { PostgresLedger } from "../../../core/money/ledger/postgres.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { copyEmptyLedger } from "../../support/ledger-template.ts";
import { recordedLog } from "../../support/log.ts";
import { accountsConformance } from "./conformance.ts";

const { log } = recordedLog();
let folder: string;
let ledger: PostgresLedger;
let sql: Sql;

t.before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-accounts-"));
  await copyEmptyLedger(folder);
  const server = new EmbeddedDatabase({ folder: join(folder, "ledger"), log });
  ledger = new PostgresLedger({ server, clock: systemClock, log });
  await ledger.start();
  const { socketPath } = server;
  sql = connect({ server: { socketPath }, connectionsMax: 1, statementTimeoutMs: 0, log });
});

t.teardown(async () => {
  await sql.end(1);
  await ledger.stop();
  rmSync(folder, { recursive: true, force: true });
});

accountsConformance(t, "embedded", () => ({ ledger, sql, isConcurrent: false }));
