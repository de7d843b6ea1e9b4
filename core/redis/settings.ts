import type { StoreFault } from "../process/store-fault.ts";
import { bucketName, bucketsOf } from "./buckets.ts";
import type { RedisCommands } from "./client.ts";
import { script } from "./script.ts";

/** The key only says which node of a cluster runs it. */
const INFO = script("return redis.call('INFO', 'memory') .. redis.call('INFO', 'persistence')");
const FILE = "as in config/deploy/redis.conf";

/**
 * Returns the faults of Redis, or of the worst node of a cluster. What a server does not report is no fault. Rejects if
 * a node does not reply.
 */
export async function faultsOfRedis(
  client: Pick<RedisCommands, "isCluster" | "run">,
  prefix: string,
): Promise<readonly StoreFault[]> {
  const buckets = Array.from({ length: bucketsOf(client) }, (_, at) => bucketName(at));
  const infos = await Promise.all(
    buckets.map((bucket) => client.run(INFO, [`${prefix}:{${bucket}}:settings`], [])),
  );
  const faults = infos.flatMap((info) => faultsIn(String(info)));
  return [...new Map(faults.map((fault) => [fault.setting, fault])).values()];
}

function faultsIn(info: string): StoreFault[] {
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
  return faults;
}
