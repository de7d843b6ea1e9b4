import type { Actor } from "../actors.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike } from "./fault.ts";

/** Leases end after 10 s of silence. */
const PAST_LEASE_MS = 11_000;
/** A replica takes over from a primary that is silent for 5 s. */
const PAST_TIMEOUT_MS = 7_000;

export const FREEZES: readonly Fault[] = [
  {
    name: "freeze gateway",
    weight: 2,
    modes: EVERYWHERE,
    aim: (ground) => freeze(ground, ground.stage.gateways, 100 + ground.random.below(3_000)),
  },
  {
    name: "freeze gateway past its lease",
    weight: 2,
    modes: EVERYWHERE,
    isLong: true,
    loses: "lease",
    aim(ground) {
      return freeze(ground, ground.stage.gateways, PAST_LEASE_MS + ground.random.below(3_000));
    },
  },
  {
    name: "freeze redis",
    weight: 2,
    modes: EVERYWHERE,
    aim: (ground) => freeze(ground, ground.stage.redis.nodes, 100 + ground.random.below(2_000)),
  },
  {
    // It wakes as a primary, until it learns of the other one.
    name: "freeze a primary until its replica takes over",
    weight: 2,
    modes: ["cluster"],
    isLong: true,
    loses: "redis",
    async aim(ground) {
      const primaries = await ground.stage.redis.primaries();
      return freeze(ground, primaries, PAST_TIMEOUT_MS + ground.random.below(3_000));
    },
  },
  {
    name: "freeze postgres",
    weight: 1,
    modes: EVERYWHERE,
    aim: (ground) => freeze(ground, [ground.stage.postgres], 100 + ground.random.below(4_000)),
  },
  {
    name: "freeze simulator",
    weight: 1,
    modes: EVERYWHERE,
    aim: (ground) => freeze(ground, [ground.stage.simulator], 100 + ground.random.below(2_000)),
  },
];

function freeze(ground: Ground, all: readonly Actor[], ms: number): Strike | undefined {
  const actor = oneOf(ground, all);
  if (!actor) return undefined;
  return {
    victims: [actor],
    describe: () => `${actor.name} for ${ms} ms`,
    begin: async () => actor.signal("SIGSTOP"),
    lastsMs: ms,
    heal: async () => actor.signal("SIGCONT"),
  };
}
