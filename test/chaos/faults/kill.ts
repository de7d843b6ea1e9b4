import { type Actor, startAgain } from "../actors.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike } from "./fault.ts";

/** A replica takes over from a primary that is silent for 5 s. */
const FAILED_OVER_MS = 7_000;

const KILL_GATEWAY: Fault = {
  name: "kill gateway",
  weight: 5,
  modes: EVERYWHERE,
  loses: "gateway",
  aim: (ground) => kill(ground, ground.stage.gateways),
};

const KILL_REDIS: Fault = {
  name: "kill redis",
  weight: 3,
  modes: ["single"],
  aim: (ground) => kill(ground, ground.stage.redis.nodes),
};

const KILL_POSTGRES: Fault = {
  name: "kill postgres",
  weight: 2,
  modes: EVERYWHERE,
  aim: (ground) => kill(ground, [ground.stage.postgres]),
};

const KILL_SIMULATOR: Fault = {
  name: "kill simulator",
  weight: 2,
  modes: EVERYWHERE,
  aim: (ground) => kill(ground, [ground.stage.simulator]),
};

/** Back before a replica takes over: nothing is lost. */
const KILL_NODE: Fault = {
  name: "kill a node of the cluster",
  weight: 2,
  modes: ["cluster"],
  loses: "redis",
  aim: (ground) => kill(ground, ground.stage.redis.nodes, 2_000),
};

/**
 * Its replica takes over without the writes that were not replicated, and the node comes back as a
 * replica.
 */
const KILL_PRIMARY: Fault = {
  name: "kill a primary until its replica takes over",
  weight: 3,
  modes: ["cluster"],
  isLong: true,
  loses: "redis",
  async aim(ground) {
    const strike = kill(ground, await ground.stage.redis.primaries());
    return strike && { ...strike, lastsMs: FAILED_OVER_MS + ground.random.below(4_000) };
  },
};

export const KILLS = [
  KILL_GATEWAY,
  KILL_REDIS,
  KILL_POSTGRES,
  KILL_SIMULATOR,
  KILL_NODE,
  KILL_PRIMARY,
];

function kill(ground: Ground, all: readonly Actor[], downMsMax = 3_000): Strike | undefined {
  const actor = oneOf(ground, all);
  if (!actor) return undefined;
  return {
    victims: [actor],
    describe: () => actor.name,
    begin: () => actor.kill(),
    lastsMs: ground.random.below(downMsMax),
    heal: () => startAgain(actor),
  };
}
