import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { LuaScripts } from "../redis/lua.ts";
import { simulate } from "../simulate.ts";
import { planWorld, type WorldPlan } from "../world-plan.ts";
import { plantedSimulation } from "./planted.ts";
import { PLANTS, type Plant } from "./plants.ts";

const SEEDS = 40;

t.test(
  "the command prints the first seed that shows a planted bug, and exits with 1",
  async (t) => {
    const program = join(packageRoot, "dist/test/world/index.js");
    const plant = "the last calls that wait for the ledger are forgotten";
    const args = ["--plant", plant, "--focus", "--first", "--from", "7", "--seeds", String(SEEDS)];
    const { status, stdout } = spawnSync(process.execPath, [program, ...args], {
      encoding: "utf8",
    });
    t.match(stdout, /^seed \d+: .*\n {2}\S/m);
    t.equal(status, 1);
  },
);

/** Proves that the judge detects violations. */
t.test("a simulated world finds the planted bug:", async (t) => {
  const lua = new LuaScripts();
  for (const [name, plant] of Object.entries(PLANTS)) {
    t.test(name, async (t) => {
      const found = await firstFound(name, plant, lua);
      if (found === undefined) return t.fail(`no violation in ${SEEDS} seeds`);
      const { plan, untilMs } = found;
      const { violations } = await simulate(plan, { lua, untilMs });
      t.strictSame(violations, [], `seed ${plan.seed} without the bug`);
    });
  }
});

/** Returns the plan of the first seed that shows the bug, and the simulated time at which it shows. */
async function firstFound(
  name: string,
  plant: Plant,
  lua: LuaScripts,
): Promise<{ plan: WorldPlan; untilMs: number } | undefined> {
  const planted = await plantedSimulation(name);
  const { from = 1 } = plant;
  for (let seed = from; seed < from + SEEDS; seed += 1) {
    const plan = planWorld(seed, plant);
    const { violations, simulatedMs } = await planted.simulate(plan, { lua });
    if (violations.length > 0) return { plan, untilMs: simulatedMs };
  }
  return undefined;
}
