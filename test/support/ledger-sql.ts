import { realpathSync } from "node:fs";
import { join } from "node:path";
import { connect, type Sql } from "../../core/database/client.ts";
import { embeddedSocket } from "../../core/database/embedded.ts";
import type { TestGateway } from "./gateway.ts";
import { recordedLog } from "./log.ts";

/** Runs one statement in the ledger of a gateway, for changes that no API makes. */
export function ledgerSql(gateway: TestGateway, statement: string): Promise<void> {
  return withLedger(gateway, (sql) => sql.script(statement));
}

/** Runs `work` on the ledger of a gateway. */
export async function withLedger<T>(
  gateway: TestGateway,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const { log } = recordedLog();
  const server = serverOf(gateway);
  const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 0, log });
  try {
    return await work(sql);
  } finally {
    await sql.end(1);
  }
}

function serverOf({ data, ledger }: TestGateway): { url: string } | { socketPath: string } {
  if (ledger !== "embedded") return { url: ledger };
  return { socketPath: embeddedSocket(realpathSync(join(data, "ledger"))) };
}

/**
 * Sets the discount of an account, in basis points; before its first call, because keys are cached.
 */
export function setDiscount(gateway: TestGateway, accountId: string, bps: number): Promise<void> {
  return ledgerSql(gateway, `update accounts set discount_bps = ${bps} where id = '${accountId}'`);
}

/** Suspends an account; before its first call, because keys are cached. */
export function suspend(gateway: TestGateway, accountId: string): Promise<void> {
  return ledgerSql(gateway, `update accounts set status = 'suspended' where id = '${accountId}'`);
}

/** Gives a key its own limit, in calls per minute; before its first call. */
export function setRateLimit(gateway: TestGateway, keyId: string, perMinute: number) {
  return ledgerSql(
    gateway,
    `update api_keys set requests_per_minute = ${perMinute} where id = '${keyId}'`,
  );
}
