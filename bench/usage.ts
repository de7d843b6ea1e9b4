import { createHash } from "node:crypto";
import { databaseOf } from "../core/database/plugin-database.ts";
import { usageBooksOf } from "../core/money/ledger/usage-books.ts";
import type { Children } from "./children.ts";
import { startStores } from "./posted-calls.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { printTable } from "./table.ts";
import { type Asked, usageQueries } from "./usage-queries.ts";
import {
  fillMonth,
  KEYS,
  MODELS,
  makeAccounts,
  RARE,
  SELDOM,
  SOUND,
  type UsageRows,
} from "./usage-rows.ts";

/** 83 million calls took 670 B of disk each, and 26 minutes with two months at a time, on a busy machine with two cores. */
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
/** A query slower than this on average is repeated less often. */
const QUERY_MS_MAX = 10_000;

/** Measures every query of the pages on many calls, a quarter of them of one account. */
export const usage: Scenario = {
  name: "usage",
  about: `every query of the usage pages on ${CALLS.toLocaleString("en")} calls, a quarter of them of one account`,
  onRequest: true,
  async run(children: Children, options) {
    const stores = await startStores(children, { fsync: false, buffersMb: BUFFERS_MB });
    const { sql } = stores;
    await makeAccounts(sql, ROWS);
    for (const month of MONTHS) {
      await fillMonth(sql, ROWS, month);
      console.error(`${month}: made`);
    }
    await sql.script("analyze", { isLong: true });
    const books = usageBooksOf(databaseOf(sql));
    const rows: { account: string; query: string; p50: number; p99: number; runs: number }[] = [];
    for (const account of ["large", "small"] as const) {
      for (const { name, run } of usageQueries) {
        const times: number[] = [];
        const untilMs = performance.now() + QUERY_MS_MAX;
        while (times.length < RUNS && (times.length < 2 || performance.now() < untilMs)) {
          const asked = ask(
            account === "large" ? 0 : 1 + Math.floor(Math.random() * ROWS.smallAccounts),
          );
          const startedMs = performance.now();
          await run(sql, books, asked);
          times.push(performance.now() - startedMs);
        }
        times.sort((a, b) => a - b);
        const at = (share: number) => times[Math.floor(share * times.length)] ?? Number.NaN;
        rows.push({ account, query: name, p50: at(0.5), p99: at(0.99), runs: times.length });
      }
    }
    await stores.end();
    printTable(
      `usage: ${this.about}`,
      rows.map(({ account, query, p50, p99, runs }) => ({
        query,
        account,
        runs: String(runs),
        "p50 ms": p50.toFixed(1),
        "p99 ms": p99.toFixed(1),
      })),
    );
    writeResults("usage", children, options, rows);
  },
};

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
