import type { Clock } from "../process/clock.ts";
import { bucketName, bucketsOf } from "./buckets.ts";
import type { RedisCommands } from "./client.ts";
import { script } from "./script.ts";

/** The key only says which node of a cluster runs it. */
const TIME = script("return redis.call('TIME')");

/**
 * Returns the time of Redis, in ms since 1970. In a cluster each node that has a bucket has a clock of its own: returns
 * the one that differs most from `clock`, among the nodes that reply. Rejects if none does.
 */
export async function timeOfRedis(
  client: Pick<RedisCommands, "isCluster" | "run">,
  prefix: string,
  clock: Pick<Clock, "now">,
): Promise<number> {
  const buckets = Array.from({ length: bucketsOf(client) }, (_, at) => bucketName(at));
  const asked = buckets.map(async (bucket) => {
    const reply = await client.run(TIME, [`${prefix}:{${bucket}}:clock`], []);
    const ms = msOf(reply);
    return { ms, offMs: Math.abs(ms - clock.now()) };
  });
  const settled = await Promise.allSettled(asked);
  const times = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  const [first] = times;
  if (first === undefined) throw (settled[0] as PromiseRejectedResult).reason;
  return times.reduce((worst, time) => (time.offMs > worst.offMs ? time : worst), first).ms;
}

function msOf(reply: unknown): number {
  const [seconds, micros] = Array.isArray(reply) ? reply.map(Number) : [];
  return (seconds ?? Number.NaN) * 1_000 + (micros ?? 0) / 1_000;
}
