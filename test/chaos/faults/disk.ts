import { startAgain } from "../actors.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike } from "./fault.ts";

export const DISK_FAULTS: readonly Fault[] = [
  {
    name: "fill the disk of a gateway",
    weight: 1,
    modes: EVERYWHERE,
    aim: (ground) => fill(ground, false),
  },
  {
    // Calls that end now can be kept nowhere.
    name: "fill the disk of a gateway, and kill redis",
    weight: 2,
    modes: EVERYWHERE,
    loses: "redis",
    aim: (ground) => fill(ground, true),
  },
];

function fill(ground: Ground, killsRedis: boolean): Strike | undefined {
  const gateway = oneOf(ground, ground.stage.gateways);
  const nodes = killsRedis ? ground.stage.redis.nodes : [];
  if (!gateway?.disk || !nodes.every((node) => ground.isFree(node) && node.isUp)) return undefined;
  const { disk } = gateway;
  const isRedisFirst = ground.random.chance(0.5);
  const lastsMs = 500 + ground.random.below(4_000);
  return {
    victims: [gateway, ...nodes],
    describe: () => `${gateway.name} for ${lastsMs} ms`,
    async begin() {
      disk.fill();
      await Promise.all(nodes.map((node) => node.kill()));
    },
    lastsMs,
    async heal() {
      if (!isRedisFirst) disk.empty();
      await Promise.all(nodes.map(startAgain));
      disk.empty();
    },
  };
}
