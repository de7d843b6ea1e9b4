import { Redis } from "ioredis";
import { messageOf } from "../process/thrown.ts";
import { addressOf } from "./address.ts";

/** As `settings.ts` reads it at the start: a user may have the right to connect, and not this one. */
const INFO = "return redis.call('INFO', 'replication') .. redis.call('INFO', 'cluster')";

/**
 * Connects once and reads what the server is. Resolves also if it is loading or full. Rejects if nothing listens, if it
 * refuses the user or a right, or if money cannot be kept there.
 */
export async function pingRedis(
  server: string,
  isOneOfCluster: boolean,
  timeoutMs: number,
): Promise<void> {
  const client = new Redis({
    ...addressOf(server),
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    enableReadyCheck: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
  });
  let fault: Error | undefined;
  client.on("error", (error) => {
    fault ??= error;
  });
  let info: string;
  try {
    await client.connect();
    info = String(await client.call("EVAL", INFO, "0"));
  } catch (error) {
    if (isBusy(error)) return;
    if (NO_RIGHT.test(messageOf(error))) throw new Error(RIGHTS);
    throw fault ?? error;
  } finally {
    client.disconnect();
  }
  const isCluster = /^cluster_enabled:1/m.test(info);
  if (isCluster && !isOneOfCluster)
    throw new Error("a node of a cluster: write a list of its nodes");
  if (isOneOfCluster && !isCluster)
    throw new Error("no node of a cluster: write one URL, not a list");
  if (!isCluster && /^role:slave/m.test(info)) throw new Error("a replica: write its primary");
}

/** Redis 7.0 and later ones have different words for scripts. */
const NO_RIGHT = /NOPERM|no permission|can't run this command/;
const RIGHTS =
  "its user has no right to INFO: acl setuser USER on ~tollgate:* +@all -@dangerous +info";

/** A server that cannot serve yet also sends a reply. The hold store waits for it. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && /^(LOADING|BUSY|MASTERDOWN|OOM|MISCONF)\b/.test(error.message);
}
