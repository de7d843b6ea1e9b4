import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { RedisClient } from "../core/redis/client.ts";
import type { Children } from "./children.ts";
import { untilQuiet } from "./cpu.ts";
import { startGateway } from "./gateway.ts";
import { median, printTable } from "./load/table.ts";
import { MixedLoad } from "./mixed-load.ts";
import { redisNumber } from "./redis-info.ts";
import { type Scenario, writeResults } from "./scenario.ts";
import { startPostgres, startRedis } from "./store-servers.ts";
import { built, startUpstream, type Target } from "./targets.ts";

const REPLY_TIMEOUT_MS = 10_000;
const MEGABYTE = 1_048_576;
/** Rounds in which caches may still fill. */
const WARM_ROUNDS = 10;
const PRINTED_EVERY = 5;

/** The memory after a collection, at the end of a round. */
interface MemoryRow {
  readonly round: number;
  readonly actions: number;
  readonly unexpected: number;
  readonly heapBytes: number;
  readonly outsideBytes: number;
  readonly residentBytes: number;
  readonly redisBytes: number;
}

/** Measures if a gateway that lives long needs more and more memory. */
export const longLife: Scenario = {
  name: "long-life",
  about: "memory after collection under a mixed load; an hour with --rounds 60 --seconds 60",
  onRequest: true,
  async run(children: Children, options) {
    const redis = await startRedis(children);
    const postgres = await startPostgres(children);
    const client = new RedisClient(redis.url, REPLY_TIMEOUT_MS);
    await new Promise<void>((resolve) => client.connect(resolve));
    const upstream = await startUpstream(children);
    const stores = { hot: redis.url, ledger: postgres.url };
    const file = join(children.folder("memory"), "collected.jsonl");
    const collector = pathToFileURL(join(built, "bench", "collect-on-signal.js"));
    const forgetter = pathToFileURL(join(built, "bench", "forget-revoked-sooner.js")).href;
    const imports = [`${collector}?${encodeURIComponent(file)}`, forgetter];
    const nodeOptions = ["--expose-gc", ...imports.flatMap((each) => ["--import", each])];
    const gateway = await startGateway(children, {
      upstreamPort: upstream.port,
      stores,
      nodeOptions,
    });
    const load = await MixedLoad.of(gateway);
    await load.fill();
    const rows: MemoryRow[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      const { actions, unexpected, firstUnexpected } = await load.run(options.seconds);
      if (firstUnexpected !== undefined) console.log(`round ${round}: ${firstUnexpected}`);
      await untilQuiet(gateway.pid);
      const { heapUsed, external, rss } = await collected(gateway, file, round);
      rows.push({
        round,
        actions,
        unexpected,
        heapBytes: heapUsed,
        outsideBytes: external,
        residentBytes: rss,
        redisBytes: await redisNumber(client, "memory", "used_memory"),
      });
      const { heapBytes } = rows.at(-1)!;
      console.log(`round ${round} of ${options.rounds}: ${megabytes(heapBytes)} MB of heap`);
    }
    printTable(`long-life: ${this.about}`, rows.filter(isPrinted).map(cellsOf));
    console.log(`\nheap after collection: ${verdictOn(rows)}`);
    await gateway.reconcile();
    writeResults("long-life", children, options, rows);
    load.end();
    client.disconnect();
    for (const each of [gateway, upstream, redis, postgres]) await each.end();
  },
};

/** Collects the gateway's garbage, and returns what its memory is then. */
async function collected(
  { pid }: Target,
  file: string,
  round: number,
): Promise<NodeJS.MemoryUsage> {
  process.kill(pid, "SIGUSR2");
  for (;;) {
    const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    const line = lines[round - 1];
    if (line !== undefined) return JSON.parse(line);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const isPrinted = ({ round }: MemoryRow) => round === 1 || round % PRINTED_EVERY === 0;

function cellsOf(row: MemoryRow): Record<string, string> {
  return {
    "": `round ${row.round}`,
    actions: String(row.actions),
    unexpected: String(row.unexpected),
    "heap MB": megabytes(row.heapBytes),
    "outside of it MB": megabytes(row.outsideBytes),
    "resident MB": megabytes(row.residentBytes),
    "Redis MB": megabytes(row.redisBytes),
  };
}

/** Compares the first third of the rounds after the warm ones with the last. */
function verdictOn(rows: readonly MemoryRow[]): string {
  const settled = rows.slice(WARM_ROUNDS);
  const third = Math.floor(settled.length / 3);
  if (third === 0) return `too few rounds to compare: more than ${WARM_ROUNDS + 2} are needed`;
  const of = (some: readonly MemoryRow[]) => median(some.map(({ heapBytes }) => heapBytes));
  const [first, last] = [of(settled.slice(0, third)), of(settled.slice(-third))];
  const change = ((last / first - 1) * 100).toFixed(1);
  return `median of ${third} rounds after round ${WARM_ROUNDS} ${megabytes(first)} MB, of the last ${third} ${megabytes(last)} MB (${change} %)`;
}

const megabytes = (bytes: number) => (bytes / MEGABYTE).toFixed(1);
