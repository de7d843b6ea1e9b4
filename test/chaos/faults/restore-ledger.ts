import { setTimeout as delay } from "node:timers/promises";
import { admin } from "../../support/admin.ts";
import type { GatewayActor } from "../actors.ts";
import { EVERYWHERE, type Fault, oneOf } from "./fault.ts";

const IDLE_MS_MAX = 20_000;
const NOTICED_MS_MAX = 30_000;
const ACCEPTED_MS_MAX = 60_000;
const POLL_MS = 200;

/**
 * A backup of Postgres is restored while Redis is ahead of it. The gateways must notice, and sell nothing
 * until an operator accepts what is lost. Nothing else is harmed: a gateway that dies with it may leave
 * drift, as the README of the project says.
 */
export const RESTORE_LEDGER: Fault = {
  name: "restore a backup of postgres",
  weight: 1,
  modes: EVERYWHERE,
  isLong: true,
  loses: "ledger",
  aim(ground) {
    const { gateways, redis, postgres } = ground.stage;
    const operated = oneOf(ground, gateways);
    const victims = [postgres, ...gateways, ...redis.nodes];
    if (!operated || !victims.every((one) => ground.isFree(one) && one.isUp)) return undefined;
    let resume = () => {};
    return {
      victims,
      describe: () => `${operated.name} accepts it`,
      async begin() {
        resume = ground.movements.pause();
        if (!(await within(IDLE_MS_MAX, async () => ground.movements.isIdle))) {
          throw new Error("movements of money still wait for their replies");
        }
        postgres.backUp();
        // So that each gateway has committed something that the backup lacks.
        await Promise.all(gateways.map(({ index }) => ground.load.one(index)));
        if (!(await ground.isCommitted(Date.now()))) throw new Error("nothing was committed since");
        await delay(ground.random.below(3_000));
        await postgres.restore();
        for (const gateway of gateways) {
          if (!(await within(NOTICED_MS_MAX, () => refusesToSell(gateway)))) {
            ground.violation("a restored ledger is noticed", gateway.name);
          }
        }
      },
      lastsMs: 0,
      async heal() {
        const isServing = async (gateway: GatewayActor) => !(await refusesToSell(gateway));
        const isAccepted = await within(ACCEPTED_MS_MAX, () => accepts(operated));
        for (const gateway of gateways) {
          if (isAccepted && (await within(ACCEPTED_MS_MAX, () => isServing(gateway)))) continue;
          ground.violation("a restored ledger can be accepted", `${gateway.name} refuses calls`);
        }
        resume();
      },
    };
  },
};

async function refusesToSell({ gateway }: GatewayActor): Promise<boolean> {
  const reply = await fetch(`${gateway.url}/readyz`, { signal: AbortSignal.timeout(5_000) });
  return (await reply.text()).includes("restored from a backup");
}

async function accepts({ gateway }: GatewayActor): Promise<boolean> {
  return (await admin(gateway, "POST", "/restore", { confirmed: true })).status === 200;
}

async function within(limitMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}
