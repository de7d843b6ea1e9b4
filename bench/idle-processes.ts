import { RedisClient } from "../core/redis/client.ts";
import { type Children, untilReady } from "./children.ts";
import { cpuTime, residentBytes } from "./cpu-time.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { printTable } from "./load/table.ts";
import { redisNumber } from "./redis-info.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { type StoreServer, startPostgres, startRedis } from "./store-servers.ts";
import { LOAD_CORE, PROXY_CORE, script } from "./targets.ts";

/** Each takes 100 MB of memory, and 1.5 s of a core to start. */
const PROCESSES = Number(process.env["PROCESSES"] ?? 20);
/**
 * Hold stores beside them, `MEMBERS_AT_ONCE` in a process: to Redis each is one gateway more, for a machine that cannot
 * run as many.
 */
const MEMBERS = Number(process.env["MEMBERS"] ?? 0);
const MEMBERS_AT_ONCE = 10;
const CONNECTIONS = 2;
const STARTED_AT_ONCE = 4;
/** After this long all have seen the last one join, and their rounds are rare again. */
const SETTLED_MS = 30_000;
const MEASURED_MS = 60_000;
const REPLY_TIMEOUT_MS = 10_000;
const MEGABYTE = 1_048_576;

/** The cost of all gateways to Redis, and of each to its machine on average. */
interface IdleRow {
  readonly gateways: number;
  readonly members: number;
  /** Shares of a core. */
  readonly redisShare: number;
  readonly gatewayShare: number;
  readonly commandsPerSecond: number;
  readonly residentBytes: number;
}

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
    const rows: IdleRow[] = [];
    const add = async (beside: number) => {
      rows.push(await measure(gateways, beside, redis.pid, client));
      console.log(JSON.stringify(rows.at(-1)));
    };
    for (const count of [...new Set([1, Math.ceil(PROCESSES / 2), PROCESSES])]) {
      while (gateways.length < count) {
        const started = Array.from(
          { length: Math.min(STARTED_AT_ONCE, count - gateways.length) },
          (_, at) => {
            const core = at % 2 === 0 ? PROXY_CORE : LOAD_CORE;
            const stores = { hot: redis.url, ledger: postgres.url, connections: CONNECTIONS };
            return startGateway(children, { upstreamPort: 1, stores, core });
          },
        );
        gateways.push(...(await Promise.all(started)));
      }
      await pause(SETTLED_MS);
      await add(0);
    }
    const stores = [redis, postgres] as const;
    let members = 0;
    for (const count of MEMBERS === 0 ? [] : [Math.ceil(MEMBERS / 2), MEMBERS]) {
      while (members < count)
        members += await startMembers(children, stores, Math.min(MEMBERS_AT_ONCE, count - members));
      await pause(SETTLED_MS);
      await add(members);
    }
    printTable(
      `idle-processes: ${this.about}`,
      rows.map((row) => ({
        gateways: String(row.gateways),
        "hold stores beside them": String(row.members),
        "Redis, % of a core": percent(row.redisShare),
        "commands/s of each, in scripts too": row.commandsPerSecond.toFixed(1),
        "gateway, % of a core": percent(row.gatewayShare),
        "MB of each": (row.residentBytes / MEGABYTE).toFixed(0),
      })),
    );
    writeResults("idle-processes", children, options, rows);
    client.disconnect();
    await children.endAll();
  },
};

/** Starts hold stores in one process, on the core that Redis does not use. Returns how many. */
async function startMembers(
  children: Children,
  [redis, postgres]: readonly [StoreServer, StoreServer],
  count: number,
) {
  const folder = children.folder("members");
  const program = script("idle-members.js", redis.url, postgres.url, count, folder);
  const child = children.start("members", { ...program, core: PROXY_CORE, ipc: true });
  let isReady = false;
  child.process.once("message", () => {
    isReady = true;
  });
  await untilReady("members", child, () => isReady);
  return count;
}

async function measure(
  gateways: readonly Gateway[],
  members: number,
  redisPid: number,
  client: RedisClient,
): Promise<IdleRow> {
  const count = gateways.length;
  const sum = (of: (pid: number) => number) =>
    gateways.reduce((total, { pid }) => total + of(pid), 0);
  const read = async () => ({
    atMs: performance.now(),
    redisUs: cpuTime(redisPid).processUs,
    gatewaysUs: sum((pid) => cpuTime(pid).processUs),
    commands: await redisNumber(client, "stats", "total_commands_processed"),
  });
  const before = await read();
  await pause(MEASURED_MS);
  const after = await read();
  const seconds = (after.atMs - before.atMs) / 1_000;
  return {
    gateways: count,
    members,
    redisShare: (after.redisUs - before.redisUs) / 1e6 / seconds,
    commandsPerSecond: (after.commands - before.commands) / seconds / (count + members),
    gatewayShare: (after.gatewaysUs - before.gatewaysUs) / 1e6 / seconds / count,
    residentBytes: sum(residentBytes) / count,
  };
}

const percent = (share: number) => (share * 100).toFixed(2);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
