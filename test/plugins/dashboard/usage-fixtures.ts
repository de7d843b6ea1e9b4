import { join } from "node:path";
import postgres from "postgres";
import { packageRoot } from "../../../core/process/root.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

export const ALICE = "11111111-1111-4111-8111-111111111111";
export const BOB = "22222222-2222-4222-8222-222222222222";
/** Noon in Vietnam. */
export const NOON = Date.UTC(2026, 10, 10, 5);

export interface UsageWorld {
  readonly gateway: TestGateway;
  readonly sql: postgres.Sql;
  /** Sends one request as a customer; an object is the query. */
  as(
    accountId: string | undefined,
    path: string,
    query?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  close(): Promise<void>;
}

/**
 * A gateway on Postgres with the accounts of Alice and Bob; `x-test-account` names the signed-in
 * one.
 */
export async function startUsageWorld(): Promise<UsageWorld> {
  const server: TestPostgres = await startPostgres();
  const gateway = await startGateway({
    config: { stores: { ledger: server.url } },
    plugins: {
      accounts: false,
      topup: false,
      [join(packageRoot, "dist/test/support/gate-of-headers.js")]: true,
    },
  });
  const sql = postgres(server.url, { max: 2, onnotice: () => {} });
  for (const id of [ALICE, BOB]) {
    await sql`insert into accounts (id, email) values (${id}, ${`${id}@tollgate.test`})`;
    await sql`insert into wallets (account_id) values (${id})`;
  }
  return {
    gateway,
    sql,
    as: (accountId, path, query = {}) =>
      fetch(`${gateway.url}/account/v1${path}?${new URLSearchParams(query)}`, {
        headers: accountId === undefined ? {} : { "x-test-account": accountId },
      }),
    async close() {
      await sql.end();
      await gateway.close();
      await server.stop();
    },
  };
}

export interface CallRow {
  readonly accountId?: string;
  readonly keyId?: string;
  readonly atMs?: number;
  readonly model?: string;
  readonly mappedFrom?: string | null;
  readonly status?: number;
  readonly charged?: number;
  readonly firstByteMs?: number | null;
}

let calls = 0;

export const KEY = keyId(1);

export function keyId(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

/** Records a call as a commit would; returns its id. */
export async function record(sql: postgres.Sql, call: CallRow = {}): Promise<string> {
  calls += 1;
  const atMs = call.atMs ?? NOON + calls;
  const time = atMs.toString(16).padStart(12, "0");
  const callId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${String(calls).padStart(12, "0")}`;
  const at = new Date(atMs);
  const { status = 200, charged = 36_000_000, mappedFrom = null } = call;
  await sql`select make_usage_partition(${at})`;
  await sql`
    insert into usage_records values (
      ${callId}, ${at}, ${call.accountId ?? ALICE}, ${call.keyId ?? KEY}, '/v1/messages',
      ${call.model ?? "claude-opus-5-5"}, ${mappedFrom}, 'anthropic', 900, 100, 50, 100, 20, 0,
      ${charged}, 0, 100, 1234.5, ${call.firstByteMs ?? null}, ${status}, true,
      ${status === 200 ? "complete" : "refused"}, false, 'mtok', '0123abcd', 36000000000
    )`;
  return callId;
}
