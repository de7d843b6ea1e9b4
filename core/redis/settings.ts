import type { StoreFault } from "../process/store-fault.ts";
import { bucketName, bucketsOf } from "./buckets.ts";
import type { RedisCommands } from "./client.ts";
import { script } from "./script.ts";

const SECTIONS = ["server", "memory", "persistence", "replication"];
/** The key only says which node of a cluster runs it. */
const INFO = script(
  `return ${SECTIONS.map((name) => `redis.call('INFO', '${name}')`).join(" .. ")}`,
);
/** A proxy that spreads commands over servers shows another one soon. */
const LOOKS = 3;
/** A lease of a gateway: see `LIFETIMES`. */
const LEASE_MS = 10_000;
/** The default of Redis, 15 s, is longer than a lease. */
const FAIL_OVER_MS = 5_000;
const FILE = "as in config/deploy/redis.conf";

/**
 * Returns the faults of Redis, or of the worst node of a cluster. What a server does not report is no fault. Rejects if
 * a node does not reply.
 */
export async function faultsOfRedis(
  client: Pick<RedisCommands, "isCluster" | "run" | "call">,
  prefix: string,
): Promise<readonly StoreFault[]> {
  const buckets = Array.from({ length: bucketsOf(client) }, (_, at) => bucketName(at));
  const infos = await Promise.all(
    buckets.map((bucket) => client.run(INFO, [`${prefix}:{${bucket}}:settings`], [])),
  );
  const faults = infos.flatMap((info) => faultsIn(String(info), client.isCluster));
  if (client.isCluster) faults.push(...(await slowFailOver(client)));
  else faults.push(...(await changingServer(client, prefix, String(infos[0]))));
  return [...new Map(faults.map((fault) => [fault.setting, fault])).values()];
}

function faultsIn(info: string, isCluster: boolean): StoreFault[] {
  const faults: StoreFault[] = [];
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? "noeviction";
  if (policy !== "noeviction") {
    const advice =
      `stores.hot: a full redis would evict wallets and charges (maxmemory-policy ${policy}): ` +
      `set maxmemory-policy to noeviction, ${FILE}`;
    faults.push({ store: "redis", setting: "maxmemory-policy", breaks: true, advice });
  }
  if (/^aof_enabled:0/m.test(info)) {
    const advice =
      "stores.hot: each restart of this redis loses its data, and with a gateway that dies at the same time its charges " +
      `(appendonly no): set appendonly to yes, ${FILE}`;
    faults.push({ store: "redis", setting: "appendonly", breaks: false, advice });
  }
  // Redis shows the second line only if the setting is above 0.
  if (/^connected_slaves:[1-9]/m.test(info) && !/^min_slaves_good_slaves:/m.test(info)) {
    const advice =
      "stores.hot: a primary that is cut off would sell what its replica sells after a fail-over (min-replicas-to-write 0): " +
      `set min-replicas-to-write to 1, ${FILE}`;
    // A node of a cluster that is cut off takes no writes after its `cluster-node-timeout`.
    const breaks = !isCluster;
    faults.push({ store: "redis", setting: "min-replicas-to-write", breaks, advice });
  }
  return faults;
}

type Client = Pick<RedisCommands, "run" | "call">;

/** Each change of the server ends the epoch of all wallets: see `core/money/redis`. */
async function changingServer(
  client: Client,
  prefix: string,
  first: string,
): Promise<StoreFault[]> {
  const runId = (info: string) => /^run_id:(\S+)/m.exec(info)?.[1];
  for (let look = 1; look < LOOKS; look += 1) {
    const info = String(await client.run(INFO, [`${prefix}:{b00}:settings`], []));
    if (runId(info) === runId(first)) continue;
    const advice =
      "stores.hot: several Redis servers reply at this address (run_id): name one server, or the nodes of a cluster, " +
      "instead of a proxy that spreads commands over them";
    return [{ store: "redis", setting: "run_id", breaks: true, advice }];
  }
  return [];
}

/** A managed cluster may refuse to show its settings. */
async function slowFailOver(client: Client): Promise<StoreFault[]> {
  const setting = "cluster-node-timeout";
  const reply = await client.call("CONFIG", "GET", setting).catch(() => []);
  const ms = Number((Array.isArray(reply) ? reply[1] : undefined) ?? 0);
  if (ms < LEASE_MS) return [];
  const advice =
    `stores.hot: a node that is cut off sells for longer than a lease what its replica sells (${setting} ${ms}): ` +
    `on each node run \`redis-cli -h NODE CONFIG SET ${setting} ${FAIL_OVER_MS}\`, and write the same into its file, ${FILE}`;
  return [{ store: "redis", setting, breaks: true, advice }];
}
