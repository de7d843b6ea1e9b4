import type { Link } from "../actors.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike } from "./fault.ts";

export const CONNECTION_FAULTS: readonly Fault[] = [
  {
    name: "cut a connection",
    weight: 3,
    modes: EVERYWHERE,
    aim: (ground) => disturb(ground, ground.stage.links, { harm: ({ proxy }) => proxy.cut() }),
  },
  {
    name: "slow a connection",
    weight: 2,
    modes: EVERYWHERE,
    aim(ground) {
      const delayMs = 5 + ground.random.below(200);
      const harm = ({ proxy }: Link) => proxy.slow(delayMs);
      return disturb(ground, ground.stage.links, { harm, how: ` by ${delayMs} ms` });
    },
  },
  {
    // Redis carries out the commands that it got, and the gateways never learn it.
    name: "lose replies of redis",
    weight: 4,
    modes: EVERYWHERE,
    aim: (ground) =>
      disturb(ground, ground.stage.redis.links, {
        harm: ({ proxy }) => proxy.swallowReplies(),
        ms: 15 + ground.random.below(60),
        end: ({ proxy }) => proxy.cut(),
      }),
  },
];

interface Disturbance {
  harm(link: Link): void;
  /** Runs after the harm has ended. */
  end?(link: Link): void;
  readonly ms?: number;
  readonly how?: string;
}

function disturb(
  ground: Ground,
  links: readonly Link[],
  { harm, end, ms, how = "" }: Disturbance,
): Strike | undefined {
  const link = oneOf(ground, links);
  if (!link) return undefined;
  const lastsMs = ms ?? 50 + ground.random.below(3_000);
  return {
    victims: [link],
    describe: () => `${link.name}${how} for ${lastsMs} ms`,
    begin: async () => harm(link),
    lastsMs,
    async heal() {
      end?.(link);
      link.proxy.slow(0);
      link.proxy.restore();
    },
  };
}
