import type { OpenClient } from "../call.ts";
import { EVERYWHERE, type Fault, type Ground, type Strike } from "./fault.ts";

export const CLIENT_FAULTS: readonly Fault[] = [
  {
    name: "half of the clients leave at once",
    weight: 2,
    modes: EVERYWHERE,
    aim: (ground) => disturb(ground, (client) => client.leave(), 0),
  },
  {
    name: "half of the clients stop reading",
    weight: 2,
    modes: EVERYWHERE,
    aim(ground) {
      const ms = 500 + ground.random.below(5_000);
      return disturb(ground, (client) => client.stall(ms), ms);
    },
  },
];

function disturb(ground: Ground, harm: (client: OpenClient) => void, ms: number): Strike {
  const { load, random } = ground;
  let count = 0;
  return {
    victims: [],
    describe: () => `${count} clients${ms > 0 ? ` for ${ms} ms` : ""}`,
    async begin() {
      for (const client of [...load.open]) {
        if (!random.chance(0.5)) continue;
        count += 1;
        harm(client);
      }
    },
    lastsMs: ms,
    heal: async () => {},
  };
}
