import t from "tap";
import { LuaScripts } from "./redis/lua.ts";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

/** As many as the world has room for. A seed takes half a minute of processor time. */
const GATEWAYS = 50;
const SEEDS = 2;

t.test(`a simulated world of ${GATEWAYS} gateways keeps every guarantee`, async (t) => {
  const lua = new LuaScripts();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const plan = planWorld(seed, { store: "redis", gateways: GATEWAYS });
    const { violations } = await simulate(plan, { lua });
    t.strictSame(violations, [], `seed ${seed}: ${describePlan(plan)}`);
  }
});
