import { RedisClient } from "../core/redis/client.ts";
import type { Children } from "./children.ts";
import { cpuTime, residentBytes } from "./cpu-time.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { startPostgres, startRedis } from "./store-servers.ts";
import { printTable } from "./table.ts";
import { LOAD_CORE, PROXY_CORE } from "./targets.ts";

/** Each takes 100 MB of memory, and 1.5 s of a core to start. */
const PROCESSES = Number(process.env["PROCESSES"] ?? 20);
const CONNECTIONS = 2;
/** After this long all have seen the last one join, and their rounds are rare again. */
const SETTLED_MS = 30_000;
const MEASURED_MS = 60_000;
const REPLY_TIMEOUT_MS = 10_000;
const MEGABYTE = 1_048_576;

/** Measures what gateways without calls cost Redis, Postgres and their machine. */
export const idleProcesses: Scenario = {
  name: "idle-processes",
  about: `${PROCESSES} gateways without calls on one Redis and one Postgres, for a minute`,
  onRequest: true,
  async run(children: Children, options) {
    const redis = await startRedis(children);
    const connectionsMax = PROCESSES * CONNECTIONS + 20;
    const postgres = await startPostgres(children, { connectionsMax });
    const client = new RedisClient(redis.url, REPLY_TIMEOUT_MS);
    await new Promise<void>((resolve) => client.connect(resolve));
    const gateways: Gateway[] = [];
    const rows: object[] = [];
    for (const count of [...new Set([1, Math.ceil(PROCESSES / 2), PROCESSES])]) {
      while (gateways.length < count) {
        const core = gateways.length % 2 === 0 ? PROXY_CORE : LOAD_CORE;
        const stores = { hot: redis.url, ledger: postgres.url, connections: CONNECTIONS };
        gateways.push(await startGateway(children, { upstreamPort: 1, stores, core }));
      }
      await pause(SETTLED_MS);
      rows.push(await measure(gateways, redis.pid, client));
    }
    printTable(
      `idle-processes: ${this.about}`,
      rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])),
      ),
    );
    writeResults("idle-processes", children, options, rows);
  },
};

async function measure(gateways: readonly Gateway[], redisPid: number, client: RedisClient) {
  const spent = () => gateways.reduce((sum, { pid }) => sum + cpuTime(pid).processUs, 0);
  const [redisBefore, spentBefore, before] = [cpuTime(redisPid), spent(), await commands(client)];
  const startedMs = performance.now();
  await pause(MEASURED_MS);
  const seconds = (performance.now() - startedMs) / 1_000;
  const redisUs = cpuTime(redisPid).processUs - redisBefore.processUs;
  const done = (await commands(client)) - before;
  const percent = (us: number) => ((us / seconds / 1e6) * 100).toFixed(2);
  const count = gateways.length;
  const resident = gateways.reduce((sum, { pid }) => sum + residentBytes(pid), 0);
  return {
    gateways: count,
    "Redis, % of a core": percent(redisUs),
    "commands/s of each": (done / seconds / count).toFixed(1),
    "gateway, % of a core": percent((spent() - spentBefore) / count),
    "MB of each": (resident / count / MEGABYTE).toFixed(0),
  };
}

async function commands(client: RedisClient): Promise<number> {
  const info = String(await client.call("INFO", "stats"));
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
