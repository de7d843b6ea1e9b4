import { createHash } from "node:crypto";
import { connect, type Sql } from "../core/database/client.ts";
import { databaseOf } from "../core/database/migrate.ts";
import { usageBooksOf } from "../core/usage/usage-books.ts";
import type { Children } from "./children.ts";
import { exactCpuMs } from "./cpu-time.ts";
import { printTable } from "./load/table.ts";
import { quietLog, startStores } from "./posted-calls.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { type Asked, usageQueries } from "./usage-queries.ts";
import {
  fillMonth,
  KEYS,
  LARGE,
  MODELS,
  makeAccounts,
  partitionOf,
  RARE,
  SELDOM,
  SOUND,
  type UsageRows,
} from "./usage-rows.ts";

/**
 * 83 million calls took 670 B of disk each, and 26 minutes with two months at a time, on a busy machine with two cores.
 * With `DATA=/some/folder` they are kept there, and the next run with as many calls only measures.
 */
const CALLS = Number(process.env["CALLS"] ?? 1_000_000);
const MONTHS = ["01", "02", "03", "04", "05", "06"].map((month) => `2026-${month}`);
const ROWS: UsageRows = {
  months: MONTHS,
  callsPerMonth: Math.ceil(CALLS / MONTHS.length),
  smallAccounts: Math.max(70, Math.ceil(CALLS / 1_000)),
};
/** As a server with so many calls would have. */
const BUFFERS_MB = 2_048;
const RUNS = Number(process.env["RUNS"] ?? 200);
/** With `WARM=1` each query runs once before it is timed: its pages are in memory, whatever the disk. */
const IS_WARM = process.env["WARM"] === "1";
/** A query slower than this on average is repeated less often. */
const QUERY_MS_MAX = 10_000;

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** The time of a query in ms: on the clock, and of the processor in Postgres, without parallel workers. */
interface Row {
  readonly account: string;
  readonly query: string;
  readonly runs: number;
  readonly clock: Percentiles;
  readonly cpu: Percentiles;
}

/** Measures every query of the pages on many calls, a quarter of them of one account. */
export const usage: Scenario = {
  name: "usage",
  about: `every query of the usage pages on ${CALLS.toLocaleString("en")} calls, a quarter of them of one account`,
  onRequest: true,
  async run(children: Children, options) {
    const stores = await startStores(children, {
      buffersMb: BUFFERS_MB,
      keptFolder: process.env["DATA"],
    });
    await fill(stores.sql);
    const server = { url: stores.postgres.url };
    const sql = connect({ server, connectionsMax: 1, statementTimeoutMs: 60_000, log: quietLog });
    const [backend] = await sql.query<{ pid: number }>("select pg_backend_pid() as pid");
    const books = usageBooksOf(databaseOf(sql));
    const rows: Row[] = [];
    for (const account of ["large", "small"] as const) {
      for (const { name, run } of usageQueries) {
        const times: number[] = [];
        const cpuTimes: number[] = [];
        const untilMs = performance.now() + QUERY_MS_MAX;
        while (times.length < RUNS && (times.length < 2 || performance.now() < untilMs)) {
          const asked = ask(
            account === "large" ? 0 : 1 + Math.floor(Math.random() * ROWS.smallAccounts),
          );
          if (IS_WARM) await run(sql, books, asked);
          const [startedMs, cpuMs] = [performance.now(), exactCpuMs(backend?.pid ?? 0)];
          await run(sql, books, asked);
          times.push(performance.now() - startedMs);
          cpuTimes.push(exactCpuMs(backend?.pid ?? 0) - cpuMs);
        }
        const [clock, cpu] = [percentiles(times), percentiles(cpuTimes)];
        rows.push({ account, query: name, runs: times.length, clock, cpu });
      }
    }
    await sql.end(1);
    // So that a kept folder needs no recovery.
    await stores.sql.script("checkpoint", { isLong: true });
    await stores.end();
    printTable(
      `usage: ${this.about}`,
      rows.map(({ account, query, runs, clock, cpu }) => ({
        query,
        account,
        runs: String(runs),
        "p50 ms": clock.p50.toFixed(1),
        "p99 ms": clock.p99.toFixed(1),
        "processor p50": cpu.p50.toFixed(1),
        "processor p99": cpu.p99.toFixed(1),
      })),
    );
    writeResults("usage", children, options, rows);
  },
};

/** Makes what the database lacks: all, or the months that a stopped run has left out. */
async function fill(sql: Sql): Promise<void> {
  const lacks = async (what: string) =>
    (await sql.query(`select from ${what} limit 1`)).length === 0;
  if (await lacks(`accounts where id = ${LARGE}`)) await makeAccounts(sql, ROWS);
  for (const month of MONTHS) {
    if (!(await lacks(`pg_class where relname = '${partitionOf(month)}'`))) continue;
    await fillMonth(sql, ROWS, month);
    console.error(`${month}: made`);
  }
  await sql.script("analyze", { isLong: true });
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Returns what the queries of an account ask for, other values each time. The large account is 0. */
function ask(account: number): Asked {
  const first = Date.parse(`${MONTHS[0]}-01T00:00Z`);
  const last = Date.parse(`${MONTHS.at(-1)}-28T00:00Z`);
  const at = new Date(first + Math.floor(Math.random() * (last - first)));
  const time = at.getTime().toString(16).padStart(12, "0");
  const noCallId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
  const key = (n: number | string) => idOf(account === 0 ? `key:0:${n}` : `key:${account}`);
  const often = (count: number) => Math.floor(Math.random() ** 3 * count);
  return {
    accountId: idOf(`account:${account}`),
    key: key(often(KEYS)),
    keys: Array.from({ length: account === 0 ? KEYS : 1 }, (_, n) => key(n)),
    keyPrefix: account === 0 ? `tg-0-${often(KEYS)}` : `tg-${account}`,
    address: `Customer${account}@example.com`,
    model: `model-${account === 0 ? often(MODELS) : account % MODELS}`,
    seldom: { key: key(SELDOM.key), model: SELDOM.model },
    rare: { key: key(RARE.key), model: RARE.model },
    sound: { key: key(SOUND.key), model: SOUND.model },
    at,
    end: new Date(last),
    callId: noCallId,
    noCallId,
  };
}

/** Returns the id that the rows have for this name. */
function idOf(name: string): string {
  const hash = createHash("md5").update(name).digest("hex");
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
