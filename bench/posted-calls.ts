import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { connect, type Sql } from "../core/database/client.ts";
import { remoteServer } from "../core/database/server.ts";
import { createPostgresLedger, type PostgresLedger } from "../core/money/ledger/postgres.ts";
import type { Posting } from "../core/money/outbox-entry.ts";
import { createRedisHoldStore, type RedisHoldStore } from "../core/money/redis/store.ts";
import { newId } from "../core/process/id.ts";
import { RedisClient } from "../core/redis/client.ts";
import type { Children } from "./children.ts";
import { startGateway } from "./gateway.ts";
import {
  type PostgresOptions,
  type StoreServer,
  startPostgres,
  startRedis,
} from "./store-servers.ts";

const ACCOUNTS = 200;
const POSTED_AT_ONCE = 2_000;
const COST_MICRO_VND = 1_000;
const SPOOL_BYTES_MAX = 1_048_576;
export const quietLog = pino({ level: "silent" });

/** The ledger in this Postgres, as a gateway has it. */
export function ledgerIn(sql: Sql): PostgresLedger {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  return createPostgresLedger({ server: remoteServer(sql), clock, log: quietLog });
}

/** A Redis, and a Postgres with the tables of a gateway and its plugins. */
export interface Stores {
  readonly redis: StoreServer;
  readonly postgres: StoreServer;
  readonly sql: Sql;
  end(): Promise<void>;
}

export async function startStores(children: Children, options?: PostgresOptions): Promise<Stores> {
  const redis = await startRedis(children);
  const postgres = await startPostgres(children, options);
  const stores = { hot: redis.url, ledger: postgres.url };
  // This gateway makes the tables, and ends before the first call is posted.
  await (await startGateway(children, { upstreamPort: 1, stores })).end();
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax: 2, statementTimeoutMs: 60_000, log: quietLog });
  const end = async () => {
    await sql.end(1);
    for (const each of [redis, postgres]) await each.end();
  };
  return { redis, postgres, sql, end };
}

/** Makes accounts that can pay for `calls` calls. Returns their ids. */
export async function fundAccounts(sql: Sql, calls: number): Promise<string[]> {
  const accountIds = Array.from({ length: ACCOUNTS }, () => newId(Date.now()));
  for (const id of accountIds) {
    await sql.query(
      `with made as (insert into accounts (id, email) values ($1, $2) returning id)
      insert into wallets (account_id) select id from made`,
      [id, `${id}@example.com`],
    );
    await sql.query("select credit_wallet($1, 'topup', $2, $3, null)", [id, wealth(calls), id]);
  }
  return accountIds;
}

/** Opens a hold store, as a gateway has it. The caller must stop it. */
export async function startStore(
  redisUrl: string,
  sql: Sql,
  spoolFolder: string,
  outboxEntriesMax: number,
): Promise<{ store: RedisHoldStore; client: RedisClient }> {
  const client = new RedisClient(redisUrl, 5_000);
  const store = createRedisHoldStore({
    client,
    prefix: "tollgate",
    spool: { folder: spoolFolder, bytesMax: SPOOL_BYTES_MAX, log: quietLog },
    outboxEntriesMax,
    ledger: ledgerIn(sql),
    log: quietLog,
  });
  await store.start();
  return { store, client };
}

/** Opens a hold store with these wallets loaded. The caller must stop it. */
export async function openStore(
  { redis, sql }: Pick<Stores, "redis" | "sql">,
  children: Children,
  accountIds: readonly string[],
  calls: number,
): Promise<{ store: RedisHoldStore; client: RedisClient }> {
  const opened = await startStore(redis.url, sql, children.folder("spool"), calls + 1);
  const balanceMicroVnd = wealth(calls);
  const wallet = { creditVersion: 1, creditedMicroVnd: balanceMicroVnd, balanceMicroVnd };
  for (const accountId of accountIds)
    await opened.store.load(accountId, async () => ({ accountId, ...wallet }));
  return opened;
}

/** Posts `calls` calls, distributed evenly over the accounts. */
export async function postAll(
  store: RedisHoldStore,
  accountIds: readonly string[],
  calls: number,
): Promise<void> {
  const keyId = randomUUID();
  for (let posted = 0; posted < calls; posted += POSTED_AT_ONCE) {
    const count = Math.min(POSTED_AT_ONCE, calls - posted);
    const postings = postingsOf(accountIds, keyId, count);
    await Promise.all(postings.map((posting) => store.post(posting)));
  }
}

export function postingsOf(accountIds: readonly string[], keyId: string, count: number): Posting[] {
  return Array.from({ length: count }, (_, n) => ({
    callId: newId(Date.now()),
    accountId: accountIds[n % accountIds.length] ?? "",
    keyId,
    at: Date.now(),
    endpoint: "/v1/chat/completions",
    model: "gpt-4.1",
    mappedFrom: null,
    upstream: "main",
    inputTokens: 300,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 60,
    reasoningTokens: 0,
    images: 0,
    costMicroVnd: COST_MICRO_VND,
    unit: "mtok",
    unitPriceMicroVnd: Math.round((COST_MICRO_VND / 360) * 1_000_000),
    factors: null,
    quantity: null,
    discountBps: 0,
    discounts: null,
    feesMicroVnd: null,
    catalogueVersion: "0123abcd",
    purses: null,
    providerCostMicroVnd: null,
    heldMicroVnd: COST_MICRO_VND,
    latencyMs: 900.5,
    firstByteMs: 300.25,
    status: 200,
    streamed: false,
    outcome: "complete",
    estimated: false,
  }));
}

function wealth(calls: number): bigint {
  return BigInt(calls) * BigInt(COST_MICRO_VND);
}
