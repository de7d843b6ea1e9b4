import type { RedisClient } from "../core/redis/client.ts";

/** Returns a number that `INFO` of Redis has in a section, such as `used_memory` in `memory`. */
export async function redisNumber(
  client: RedisClient,
  section: string,
  name: string,
): Promise<number> {
  const info = String(await client.call("INFO", section));
  return Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1]);
}
