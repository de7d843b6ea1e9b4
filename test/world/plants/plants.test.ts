import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { LuaScripts } from "../redis/lua.ts";
import { simulate } from "../simulate.ts";
import { describePlan, planWorld, type WorldPlan } from "../world-plan.ts";
import { PLANTS } from "./plants.ts";

const program = join(packageRoot, "dist/test/world/index.js");
const SEEDS = 40;
const FOUND = /^seed (\d+): .*\n {2}\S/m;

/** Proves that the judge detects violations. */
t.test("a simulated world finds the planted bug:", async (t) => {
  const lua = new LuaScripts();
  /** Plants often share a world, which is run once. */
  const clean = new Map<string, Promise<readonly string[]>>();
  const withoutPlant = (plan: WorldPlan) => {
    const world = `${plan.seed} ${describePlan(plan)} ${plan.movements}`;
    const violations = clean.get(world) ?? simulate(plan, { lua }).then((run) => run.violations);
    clean.set(world, violations);
    return violations;
  };
  for (const [name, { store, faults, movements, from = 1 }] of Object.entries(PLANTS)) {
    t.test(name, async (t) => {
      const seeds = ["--from", String(from), "--seeds", String(SEEDS)];
      const args = ["--plant", name, "--focus", "--first", ...seeds];
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
        encoding: "utf8",
      });
      t.equal(stderr.includes("out of date"), false, stderr);
      const seed = FOUND.exec(stdout)?.[1];
      t.ok(seed, `a seed with its violations: ${stdout}`);
      t.equal(status, 1);
      const plan = planWorld(Number(seed), { store, faults, movements });
      t.strictSame(await withoutPlant(plan), [], `seed ${seed} without the bug`);
    });
  }
});
