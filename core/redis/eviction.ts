import type { RedisCommands } from "./client.ts";

/**
 * Rejects where Redis would forget keys by itself when it is full: a wallet, a charge on its way to the ledger. Does
 * nothing where Redis does not say.
 */
export async function refuseEviction(client: RedisCommands): Promise<void> {
  const info = await client.call("INFO", "memory").catch(() => "");
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1] ?? "noeviction";
  if (policy === "noeviction") return;
  throw new Error(
    `stores.hot: redis forgets wallets and charges when it is full (maxmemory-policy ${policy}): ` +
      "set maxmemory-policy to noeviction, as in config/deploy/redis.conf",
  );
}
