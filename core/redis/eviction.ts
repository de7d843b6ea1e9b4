import type { RedisCommands } from "./client.ts";

/**
 * Rejects if a full Redis would evict keys: wallets, and charges not in the ledger yet. Does
 * nothing if Redis does not report its policy.
 */
export async function refuseEviction(client: RedisCommands): Promise<void> {
  const info = await client.call("INFO", "memory").catch(() => "");
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1] ?? "noeviction";
  if (policy === "noeviction") return;
  throw new Error(
    `stores.hot: a full redis would evict wallets and charges (maxmemory-policy ${policy}): ` +
      "set maxmemory-policy to noeviction, as in config/deploy/redis.conf",
  );
}
