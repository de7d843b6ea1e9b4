import { setTimeout as delay } from "node:timers/promises";
import { type Actor, type GatewayActor, startAgain } from "../actors.ts";
import type { RedisNode } from "../redis-stage.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike, uncommitted } from "./fault.ts";

/** A committer reads up to 1,000 posts at a time. */
const POSTS = 1_500;
const RUSH_CLIENTS = 64;
const RUSH_MS_MAX = 40_000;
const POLL_MS = 200;
/** A gateway is sure of a bucket for 5 s without a reply from Redis. */
const UNSURE_MS = 7_000;
const DRAIN_MS_MAX = 60_000;
/** Below the memory that is used already. */
const FULL_BYTES = 1_000_000;

const BOTH_STORES: Fault = {
  name: "kill postgres, and redis once 1,500 posts wait",
  weight: 1,
  modes: EVERYWHERE,
  isLong: true,
  // A replica may take over from a primary that starts after it.
  loses: "redis",
  aim(ground) {
    const { nodes } = ground.stage.redis;
    return afterRush(ground, nodes, () => ({
      begin: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
      lastsMs: UNSURE_MS + ground.random.below(2_000),
      async heal(startPostgres) {
        const startRedis = () => Promise.all(nodes.map(startAgain));
        if (ground.random.chance(0.5)) {
          await startPostgres();
          await startRedis();
        } else {
          await startRedis();
          await delay(ground.random.below(4_000));
          await startPostgres();
        }
      },
    }));
  },
};

const FROZEN_GATEWAY: Fault = {
  name: "kill postgres, and freeze a gateway with 1,500 posts for 7 s",
  weight: 1,
  modes: EVERYWHERE,
  isLong: true,
  loses: "lease",
  aim: (ground) =>
    afterRush(ground, [], (gateway) => ({
      begin: async () => gateway.signal("SIGSTOP"),
      lastsMs: UNSURE_MS,
      async heal(startPostgres) {
        gateway.signal("SIGCONT");
        await delay(ground.random.below(4_000));
        await startPostgres();
      },
    })),
};

const FULL_REDIS: Fault = {
  name: "kill postgres, and fill redis once 1,500 posts wait",
  weight: 1,
  modes: EVERYWHERE,
  isLong: true,
  aim(ground) {
    const { nodes } = ground.stage.redis;
    return afterRush(ground, nodes, (gateway) => ({
      begin: () => limitMemory(nodes, `${FULL_BYTES}`),
      lastsMs: 2_000,
      async heal(startPostgres) {
        await startPostgres();
        const deadline = performance.now() + DRAIN_MS_MAX;
        let left = await uncommitted(gateway);
        while (left !== undefined && left > POSTS / 2 && performance.now() < deadline) {
          await delay(POLL_MS);
          left = await uncommitted(gateway);
        }
        if (left !== undefined && left > POSTS / 2) {
          ground.violation("a full Redis is drained", `${left} posts still wait`);
        }
        await limitMemory(nodes, "0");
      },
    }));
  },
};

/** Without a backlog: nothing can be held or posted until the limit is lifted. */
const FULL_FOR_A_WHILE: Fault = {
  name: "fill redis",
  weight: 2,
  modes: EVERYWHERE,
  async aim(ground) {
    const node = oneOf(ground, await ground.stage.redis.primaries());
    if (!node) return undefined;
    const lastsMs = 200 + ground.random.below(4_000);
    return {
      victims: [node],
      describe: () => `${node.name} for ${lastsMs} ms`,
      begin: () => limitMemory([node], `${FULL_BYTES}`),
      lastsMs,
      heal: () => limitMemory([node], "0"),
    };
  },
};

export const BACKLOG_FAULTS = [BOTH_STORES, FROZEN_GATEWAY, FULL_REDIS, FULL_FOR_A_WHILE];

/** The fault that follows once the posts wait. */
interface Second {
  begin(): Promise<void>;
  readonly lastsMs: number;
  heal(startPostgres: () => Promise<void>): Promise<void>;
}

/**
 * Kills Postgres, and sends short calls to one gateway until it has 1,500 posts that it cannot
 * commit. Then the second fault begins.
 */
function afterRush(
  ground: Ground,
  others: readonly Actor[],
  then: (gateway: GatewayActor) => Second,
): Strike | undefined {
  const { postgres, gateways } = ground.stage;
  const gateway = oneOf(ground, gateways);
  const victims = [postgres, ...others];
  if (!gateway || !victims.every((one) => ground.isFree(one) && one.isUp)) return undefined;
  const second = then(gateway);
  let posts = 0;
  return {
    victims: [gateway, ...victims],
    describe: () => `${gateway.name} has ${posts} posts`,
    async begin() {
      await postgres.kill();
      const deadline = performance.now() + RUSH_MS_MAX;
      let isEnough = false;
      const rush = ground.load.rush(gateway.index, RUSH_CLIENTS, () => isEnough);
      while (posts < POSTS && performance.now() < deadline) {
        await delay(POLL_MS);
        posts = (await uncommitted(gateway)) ?? posts;
      }
      ground.peak("posts of a gateway that waited for postgres", posts);
      // Calls go on while the second fault begins.
      const begun = second.begin();
      isEnough = true;
      await begun;
      void rush;
    },
    lastsMs: second.lastsMs,
    heal: () => second.heal(() => startAgain(postgres)),
  };
}

/** Below what it uses, Redis refuses each command that needs memory; 0 lifts the limit. */
async function limitMemory(nodes: readonly RedisNode[], bytes: string): Promise<void> {
  await Promise.all(nodes.map(({ server }) => server.call("CONFIG", "SET", "maxmemory", bytes)));
}
