import { randomUUID } from "node:crypto";
import { pino } from "pino";
import type { Posting } from "../core/hot/hot.ts";
import { RedisClient } from "../core/hot/redis/client.ts";
import { RedisHotStore } from "../core/hot/redis.ts";
import { newId } from "../core/id.ts";
import { connect, type Sql } from "../core/ledger/client.ts";
import type { Children } from "./children.ts";
import { residentBytes } from "./cpu-time.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { type StoreServer, startPostgres, startRedis } from "./store-servers.ts";
import { printTable } from "./table.ts";

/** `BACKLOG=1000000` for the size that the goal names, which takes some minutes. */
const CALLS = Number(process.env["BACKLOG"] ?? 200_000);
const ACCOUNTS = 200;
const POSTED_AT_ONCE = 2_000;
const COST_MICRO_VND = 1_000;
const SAMPLE_MS = 500;
const DRAINED_WITHIN_MS = 1_200_000;
const MEGABYTE = 1_048_576;

/** How fast posted calls that a dead gateway has left in Redis reach Postgres, and what memory that takes. */
export const backlog: Scenario = {
  name: "backlog",
  about: `${CALLS.toLocaleString("en")} posted calls of a dead gateway drain from Redis into Postgres`,
  onRequest: true,
  async run(children, options) {
    const rows = [];
    for (const fsync of [true, false]) {
      rows.push(await drain(children, fsync));
    }
    printTable(
      `backlog: ${this.about}`,
      rows.map((row) => ({
        "": `fsync ${row.fsync ? "on" : "off"}`,
        calls: String(row.calls),
        seconds: row.seconds.toFixed(1),
        "calls/s": row.callsPerSecond.toFixed(0),
        "Redis bytes/call": row.redisBytesPerCall.toFixed(0),
        "MB at 10%": (row.residentAtTenth / MEGABYTE).toFixed(0),
        "MB at 50%": (row.residentAtHalf / MEGABYTE).toFixed(0),
        "MB at the end": (row.residentAtEnd / MEGABYTE).toFixed(0),
        "MB at the peak": (row.residentPeak / MEGABYTE).toFixed(0),
      })),
    );
    writeResults("backlog", children, options, rows);
  },
};

async function drain(children: Children, fsync: boolean) {
  const redis = await startRedis(children);
  const postgres = await startPostgres(children, { fsync });
  const log = pino({ level: "silent" });
  const server = { url: postgres.url };
  const sql = connect({ server, connectionsMax: 2, statementTimeoutMs: 60_000, log });
  const start = () =>
    startGateway(children, {
      upstreamPort: 1,
      stores: { hot: redis.url, ledger: postgres.url },
    });
  // The first gateway makes the tables, and is gone before anything is posted.
  await (await start()).end();
  const redisBytes = await fill(redis, sql, children.folder("spool"));
  const gateway = await start();
  const measured = await watch(gateway, sql);
  await gateway.reconcile();
  await gateway.end();
  await sql.end(1);
  for (const each of [redis, postgres]) await each.end();
  return { fsync, redisBytesPerCall: redisBytes / CALLS, ...measured };
}

/** Posts all calls as a gateway does that dies without settling one. Answers what they take in Redis. */
async function fill(redis: StoreServer, sql: Sql, spoolFolder: string): Promise<number> {
  const accountIds = Array.from({ length: ACCOUNTS }, () => newId(Date.now()));
  const balance = BigInt(CALLS) * BigInt(COST_MICRO_VND);
  for (const id of accountIds) {
    const email = `${id}@example.com`;
    await sql.query(
      `with made as (insert into accounts (id, email) values ($1, $2) returning id)
      insert into wallets (account_id) select id from made`,
      [id, email],
    );
    await sql.query("select credit_wallet($1, 'topup', $2, $3, null)", [id, balance, id]);
  }
  const client = new RedisClient(redis.url, 5_000);
  const log = pino({ level: "silent" });
  const store = new RedisHotStore({
    client,
    prefix: "tollgate",
    spool: { folder: spoolFolder, bytesMax: MEGABYTE, log },
    outboxEntriesMax: CALLS + 1,
    truth: { wallet: async () => undefined, hasCall: async () => false },
    log,
  });
  await store.start();
  const wallet = { creditVersion: 1, creditedMicroVnd: balance, balanceMicroVnd: balance };
  for (const accountId of accountIds)
    await store.open(accountId, async () => ({ accountId, ...wallet }));
  const before = await usedBytes(client);
  const keyId = randomUUID();
  for (let posted = 0; posted < CALLS; posted += POSTED_AT_ONCE) {
    const count = Math.min(POSTED_AT_ONCE, CALLS - posted);
    const calls = Array.from({ length: count }, (_, n) =>
      store.post(posting(accountIds[(posted + n) % ACCOUNTS] ?? "", keyId)),
    );
    await Promise.all(calls);
  }
  const bytes = (await usedBytes(client)) - before;
  await store.stop();
  return bytes;
}

async function usedBytes(client: RedisClient): Promise<number> {
  const info = String(await client.call("INFO", "memory"));
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}

/** Samples the gateway's memory and the ledger's calls until all are there. */
async function watch(gateway: Gateway, sql: Sql) {
  const samples: { atMs: number; settled: number; resident: number }[] = [];
  const deadline = performance.now() + DRAINED_WITHIN_MS;
  for (;;) {
    const [row] = await sql.query<{ calls: number }>(
      "select coalesce(sum(calls), 0)::float8 as calls from usage_daily",
    );
    const settled = row?.calls ?? 0;
    samples.push({ atMs: performance.now(), settled, resident: residentBytes(gateway.pid) });
    if (settled >= CALLS) break;
    if (performance.now() > deadline) throw new Error(`${settled} of ${CALLS} calls were settled`);
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  const at = (share: number) => samples.find(({ settled }) => settled >= share * CALLS);
  // Its leases must lapse before a dead gateway's outbox is anybody's: that wait is no part of the rate.
  const first = [...samples].reverse().find(({ settled }) => settled === 0) ?? samples[0];
  const last = samples.at(-1);
  const seconds = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1_000;
  return {
    calls: CALLS,
    seconds,
    callsPerSecond: (CALLS - (first?.settled ?? 0)) / seconds,
    residentAtTenth: at(0.1)?.resident ?? 0,
    residentAtHalf: at(0.5)?.resident ?? 0,
    residentAtEnd: last?.resident ?? 0,
    residentPeak: Math.max(...samples.map(({ resident }) => resident)),
  };
}

function posting(accountId: string, keyId: string): Posting {
  return {
    callId: newId(Date.now()),
    accountId,
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
    discountBps: 0,
    latencyMs: 900.5,
    firstByteMs: 300.25,
    status: 200,
    streamed: false,
    outcome: "complete",
    estimated: false,
  };
}
