import { connect, type Sql } from "../../../../core/database/client.ts";
import { remoteServer } from "../../../../core/database/server.ts";
import {
  createPostgresLedger,
  type PostgresLedger,
} from "../../../../core/money/ledger/postgres.ts";
import { recordedLog } from "../../../support/log.ts";
import { startPostgres } from "../../../support/postgres.ts";

/** A ledger on a Postgres server of its own, without tables until it starts. */
export interface TestLedger {
  readonly url: string;
  readonly ledger: PostgresLedger;
  readonly sql: Sql;
  stop(): Promise<void>;
}

export async function startTestLedger(
  connectionsMax: number,
  now: () => number = Date.now,
): Promise<TestLedger> {
  const { log } = recordedLog();
  const postgres = await startPostgres();
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax, statementTimeoutMs: 60_000, log });
  const clock = { now, monotonic: () => 0 };
  const ledger = createPostgresLedger({ server: remoteServer(sql), clock, log });
  return {
    ...server,
    ledger,
    sql,
    async stop() {
      await ledger.stop();
      await postgres.stop();
    },
  };
}
