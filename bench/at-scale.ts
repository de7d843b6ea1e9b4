import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { RedisClient } from "../core/redis/client.ts";
import type { Children } from "./children.ts";
import { type Customer, fillBooks, openWallets } from "./filled-books.ts";
import { ADMIN_TOKEN, admin, type Gateway, startGateway } from "./gateway.ts";
import { useKeys } from "./known-keys.ts";
import { printTable } from "./load/table.ts";
import { LoadedPhases, type PhaseRow } from "./loaded-phases.ts";
import { peakOf } from "./peak-memory.ts";
import { type Stores, startStores } from "./posted-calls.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { SpreadLoad } from "./spread-load.ts";
import { stallOptions } from "./stalls.ts";
import { LOAD_CORE, PROXY_CORE, script, startUpstream } from "./targets.ts";
import { chatCall, SHORT_ANSWER } from "./workload.ts";

const ACCOUNTS = Number(process.env["ACCOUNTS"] ?? 10_000);
/** A call takes 0.9 KB of disk. */
const CALLS = Number(process.env["CALLS"] ?? 200_000);
/** How many keys each gateway knows before the changes: it reads each by two statements. */
const KNOWN_KEYS = Number(process.env["KNOWN_KEYS"] ?? ACCOUNTS);
/** Calls a second, to all gateways. */
const RATE = Number(process.env["RATE"] ?? 100);
const GATEWAYS = 4;
const CHANGED = 500;
const MONTHS = ["2026-03", "2026-04"];
const CONNECTIONS = 5;
const BUFFERS_MB = 1_024;
const REPLY_TIMEOUT_MS = 30_000;
const AT_ONCE = 8;
/** Every gateway has noticed a change, and a bucket that was wiped takes calls again. */
const AFTERWARDS_MS = 15_000;
const MEGABYTE = 1_048_576;
/** Shorter stalls are not counted. */
const STALL_MS = 20;

/** Measures what large books cost while calls run: stalls of the gateways, and refused calls. */
export const atScale: Scenario = {
  name: "at-scale",
  about: `start, reconcile, wiped Redis and changed accounts under load: ${ACCOUNTS.toLocaleString("en")} open wallets, ${CALLS.toLocaleString("en")} calls, ${GATEWAYS} gateways`,
  onRequest: true,
  async run(children: Children, options) {
    const connectionsMax = GATEWAYS * CONNECTIONS + 20;
    const stores = await startStores(children, {
      buffersMb: BUFFERS_MB,
      connectionsMax,
    });
    const customers = await fillBooks(stores.sql, {
      months: MONTHS,
      callsPerMonth: Math.ceil(CALLS / MONTHS.length),
      smallAccounts: ACCOUNTS,
    });
    const rows = await measureAtScale(children, stores, customers);
    printTable(`at-scale: ${this.about}`, rows.map(cellsOf));
    for (const { name, note } of rows) if (note) console.log(`${name}: ${note}`);
    writeResults("at-scale", children, options, rows);
    await children.endAll();
    const failed = rows.filter(({ hasFailed }) => hasFailed).map(({ name }) => name);
    if (failed.length > 0) throw new Error(`failed: ${failed.join(", ")}`);
  },
};

/** Starts the gateways on filled books, and returns what each phase measured. */
export async function measureAtScale(
  children: Children,
  stores: Stores,
  customers: readonly Customer[],
): Promise<PhaseRow[]> {
  const known = customers.slice(0, KNOWN_KEYS);
  const upstream = await startUpstream(children);
  const gateways: Gateway[] = [];
  const phases = new LoadedPhases(
    new SpreadLoad(chatCall(SHORT_ANSWER, false), keysOf(customers.slice(CHANGED)), RATE),
    join(children.folder("stalls"), "gateway"),
  );
  const start = () => startNext(children, stores, upstream.port, gateways, phases);
  while (gateways.length < GATEWAYS - 1) console.log(await start());
  const opened = await openWallets(children, stores);
  console.log(`opened ${opened} wallets`);

  await phases.run("calls alone", gateways, () => pause(AFTERWARDS_MS));
  await phases.run("start of the last gateway", gateways, start);
  for (const gateway of gateways) await useKeys(gateway, keysOf(known));
  await phases.run("calls alone, keys known", gateways, () => pause(AFTERWARDS_MS));
  const [first] = gateways;
  if (first === undefined) throw new Error("no gateway");
  await phases.run("reconcile, first", gateways, () => reconcile(children, first));
  await phases.run("reconcile, again", gateways, () => reconcile(children, first));
  await phases.run("discount of 500 accounts", gateways, () => discount(stores, customers));
  const changed = customers.slice(0, CHANGED);
  for (const change of ["suspend", "resume"])
    await phases.run(`${change} 500 accounts`, gateways, () => changeAll(first, changed, change));
  await phases.run("FLUSHALL", gateways, () => wipe(stores));
  await first.reconcile();
  return phases.rows;
}

/** Starts a gateway. Returns how long it took until it was ready, which includes making one key. */
async function startNext(
  children: Children,
  { redis, postgres }: Stores,
  upstreamPort: number,
  gateways: Gateway[],
  phases: LoadedPhases,
): Promise<string> {
  const stores = { hot: redis.url, ledger: postgres.url, connections: CONNECTIONS };
  const core = gateways.length % 2 === 0 ? PROXY_CORE : LOAD_CORE;
  const nodeOptions = stallOptions(phases.fileOf(gateways.length), STALL_MS);
  const startedMs = performance.now();
  const gateway = await startGateway(children, { upstreamPort, stores, core, nodeOptions });
  const seconds = (performance.now() - startedMs) / 1_000;
  gateways.push(gateway);
  return `ready after ${seconds.toFixed(1)} s`;
}

/** Runs the admin command. Returns its progress, and the most memory of it and of its gateway. */
async function reconcile(children: Children, gateway: Gateway): Promise<string> {
  const before = peakOf(gateway.pid);
  const { command, args } = script("../plugins/admin/cli.js", "reconcile");
  const child = children.start("reconcile", {
    command,
    args: [...args, "--url", `http://127.0.0.1:${gateway.port}`, "--token", ADMIN_TOKEN],
    core: LOAD_CORE,
  });
  const of = peakOf(child.pid);
  const startedMs = performance.now();
  await new Promise((resolve) => child.process.once("exit", resolve));
  const seconds = (performance.now() - startedMs) / 1_000;
  const [own, gatewayPeak] = [of.end(), before.end()];
  if (child.process.exitCode !== 0) throw new Error(`reconcile failed:\n${child.output()}`);
  const pages = child.output().match(/^added up /gm)?.length ?? 0;
  return `${seconds.toFixed(1)} s, ${pages} lines of progress; at most ${megabytes(own.most)} MB, its gateway ${megabytes(gatewayPeak.most)} MB (before ${megabytes(gatewayPeak.first)})`;
}

/** As an operator's own SQL would. Every gateway finds the changes in the ledger. */
async function discount({ sql }: Stores, customers: readonly Customer[]): Promise<void> {
  const ids = customers.slice(CHANGED, 2 * CHANGED).map(({ accountId }) => accountId);
  await sql.query(
    "update accounts set discount_bps = 100 where id = any (string_to_array($1, ',')::uuid[])",
    [ids.join()],
  );
  await pause(AFTERWARDS_MS);
}

async function changeAll(
  { port }: Gateway,
  customers: readonly Customer[],
  change: string,
): Promise<string> {
  const startedMs = performance.now();
  const left = [...customers];
  const work = async () => {
    for (let each = left.pop(); each !== undefined; each = left.pop())
      await admin(port, "POST", `/accounts/${each.accountId}/${change}`, { reason: "bench" });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const seconds = (performance.now() - startedMs) / 1_000;
  await pause(AFTERWARDS_MS);
  return `in ${seconds.toFixed(1)} s`;
}

async function wipe({ redis }: Stores): Promise<void> {
  const client = new RedisClient(redis.url, REPLY_TIMEOUT_MS);
  await new Promise<void>((resolve) => client.connect(resolve));
  await client.call("FLUSHALL");
  client.disconnect();
  await pause(AFTERWARDS_MS);
}

const keysOf = (customers: readonly Customer[]) => customers.map(({ key }) => key);

function cellsOf(row: PhaseRow): Record<string, string> {
  const { calls, refused, p99Ms, longestMs, stall } = row;
  return {
    phase: row.name,
    calls: String(calls),
    refused: String(refused),
    "p99 ms": p99Ms.toFixed(0),
    "longest ms": longestMs.toFixed(0),
    "longest stall, processor ms": stall.ranMs.toFixed(0),
    "by the clock": stall.lateMs.toFixed(0),
  };
}

const megabytes = (bytes: number) => (bytes / MEGABYTE).toFixed(0);
