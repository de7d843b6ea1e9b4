import type { Random } from "../support/random.ts";
import type { Host } from "./host.ts";
import type { World } from "./world.ts";
import type { FaultName } from "./world-plan.ts";

/** Lets one fault happen. It ends by itself, or when the world heals. */
type Fault = (world: World, random: Random) => void;

const CLOCK_ERROR_MS_MAX = 600_000;

export const faults: Readonly<Partial<Record<FaultName, Fault>>> = {
  kill: onHost((world, host, random) => {
    host.kill();
    host.startLater(random.below(3_000));
    world.note(`kill ${host.name}`);
  }),
  sigterm: onHost((world, host) => {
    host.restart();
    world.note(`sigterm ${host.name}`);
  }),
  freeze: onHost((world, host, random) => {
    const { gateway } = host;
    if (!gateway) return;
    const ms = random.below(random.chance(0.3) ? 20_000 : 3_000);
    gateway.process.freeze();
    world.note(`freeze ${host.name} for ${ms} ms`);
    world.scheduler.after(ms, `thaw ${host.name}`, () => gateway.process.thaw());
  }),
  powerLoss: onHost((world, host, random) => {
    host.kill();
    host.disk.losePower();
    world.judge.powerLost(host);
    host.startLater(random.below(3_000));
    world.note(`power of ${host.name} lost`);
  }),
  diskFull: onHost((world, host, random) => {
    if (host.disk.freeBytes !== Number.POSITIVE_INFINITY) return;
    const ms = random.below(8_000);
    host.disk.freeBytes = random.below(2_000);
    world.note(`disk of ${host.name} full for ${ms} ms`);
    world.scheduler.after(ms, `disk of ${host.name}`, () => host.disk.empty());
  }),
  ledgerAway(world, random) {
    const ms = random.below(random.chance(0.3) ? 15_000 : 2_000);
    world.ledger.state = random.pick(["refuses", "hangs"]);
    world.note(`ledger ${world.ledger.state} for ${ms} ms`);
    world.scheduler.after(ms, "ledger back", () => {
      world.ledger.state = "up";
    });
  },
  ledgerSlow(world, random) {
    world.ledger.isSlow = true;
    world.note("ledger slow");
    world.scheduler.after(random.below(5_000), "ledger quick", () => {
      world.ledger.isSlow = false;
    });
  },
  ledgerLosesReplies(world, random) {
    world.ledger.lostReplies = random.fraction();
    world.note("ledger loses replies");
    world.scheduler.after(random.below(4_000), "ledger replies", () => {
      world.ledger.lostReplies = 0;
    });
  },
  clockJump: onHost((world, host, random) => {
    const { gateway } = host;
    if (!gateway) return;
    gateway.process.clockErrorMs = random.below(2 * CLOCK_ERROR_MS_MAX) - CLOCK_ERROR_MS_MAX;
    world.note(`clock of ${host.name} off by ${gateway.process.clockErrorMs} ms`);
  }),
};

/** Ends every fault. */
export function heal(world: World): void {
  const { ledger } = world;
  ledger.state = "up";
  ledger.isSlow = false;
  ledger.lostReplies = 0;
  for (const host of world.hosts) {
    host.disk.empty();
    host.gateway?.process.thaw();
    if (!host.gateway) host.startLater(0);
  }
}

function onHost(work: (world: World, host: Host, random: Random) => void): Fault {
  return (world, random) => work(world, random.pick(world.hosts), random);
}
