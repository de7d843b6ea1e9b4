import type { Sql } from "../core/database/client.ts";
import type { Children } from "./children.ts";
import { residentBytes } from "./cpu-time.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { printTable } from "./load/table.ts";
import { fundAccounts, openStore, postAll, type Stores, startStores } from "./posted-calls.ts";
import { redisNumber } from "./redis-info.ts";
import { type Scenario, writeResults } from "./scenario.ts";

/** Set `BACKLOG=1000000` for a run of full size, which takes some minutes. */
const CALLS = Number(process.env["BACKLOG"] ?? 200_000);
const SAMPLE_MS = 500;
const COMMITTED_WITHIN_MS = 1_200_000;
const MEGABYTE = 1_048_576;

/** Measures rate and memory for committing posted calls that a dead gateway left in Redis. */
export const backlog: Scenario = {
  name: "backlog",
  about: `${CALLS.toLocaleString("en")} posted calls of a dead gateway, committed from Redis into Postgres`,
  onRequest: true,
  async run(children, options) {
    const rows = [await commitBacklog(children)];
    printTable(
      `backlog: ${this.about}`,
      rows.map((row) => ({
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

async function commitBacklog(children: Children) {
  const stores = await startStores(children);
  const { redis, postgres, sql } = stores;
  const redisBytes = await fill(children, stores);
  const gateway = await startGateway(children, {
    upstreamPort: 1,
    stores: { hot: redis.url, ledger: postgres.url },
  });
  const measured = await watch(gateway, sql);
  await gateway.reconcile();
  await gateway.end();
  await stores.end();
  return { redisBytesPerCall: redisBytes / CALLS, ...measured };
}

/**
 * Posts all calls without committing any, like a gateway that dies. Returns their size in Redis, in
 * bytes.
 */
async function fill(children: Children, { redis, sql }: Stores): Promise<number> {
  const accountIds = await fundAccounts(sql, CALLS);
  const { store, client } = await openStore({ redis, sql }, children, accountIds, CALLS);
  const usedBytes = () => redisNumber(client, "memory", "used_memory");
  const before = await usedBytes();
  await postAll(store, accountIds, CALLS);
  const bytes = (await usedBytes()) - before;
  await store.stop();
  return bytes;
}

/** Samples the gateway's memory and the ledger's calls until the ledger has all of them. */
async function watch(gateway: Gateway, sql: Sql) {
  const samples: { atMs: number; committed: number; resident: number }[] = [];
  const deadline = performance.now() + COMMITTED_WITHIN_MS;
  for (;;) {
    const [row] = await sql.query<{ calls: number }>(
      "select coalesce(sum(calls), 0)::float8 as calls from usage_daily",
    );
    const committed = row?.calls ?? 0;
    samples.push({ atMs: performance.now(), committed, resident: residentBytes(gateway.pid) });
    if (committed >= CALLS) break;
    if (performance.now() > deadline)
      throw new Error(`${committed} of ${CALLS} calls were committed`);
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  const at = (share: number) => samples.find(({ committed }) => committed >= share * CALLS);
  // The rate excludes the wait until the dead gateway's lease expires and its outbox can be taken
  // over.
  const first = [...samples].reverse().find(({ committed }) => committed === 0) ?? samples[0];
  const last = samples.at(-1);
  const seconds = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1_000;
  return {
    calls: CALLS,
    seconds,
    callsPerSecond: (CALLS - (first?.committed ?? 0)) / seconds,
    residentAtTenth: at(0.1)?.resident ?? 0,
    residentAtHalf: at(0.5)?.resident ?? 0,
    residentAtEnd: last?.resident ?? 0,
    residentPeak: Math.max(...samples.map(({ resident }) => resident)),
  };
}
