import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { newerNode } from "../support/newer-node.ts";
import { LuaScripts } from "./redis/lua.ts";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

const SEEDS = process.env["TOLLGATE_THOROUGH"] === "1" ? 30 : 6;
const HASHED_SEEDS = 4;

t.test("a simulated world", async (t) => {
  /** Hashes by seed. */
  const hashes: string[] = [];

  t.test(`keeps every guarantee, in ${SEEDS} seeds`, async (t) => {
    const lua = new LuaScripts();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const plan = planWorld(seed);
      const { violations, hash } = await simulate(plan, { lua });
      hashes.push(`seed ${seed}: ${hash}`);
      t.strictSame(violations, [], `seed ${seed}: ${describePlan(plan)}`);
    }
  });

  t.test("runs the same way again from the same seed, under either Node", async (t) => {
    const program = join(packageRoot, "dist/test/world/index.js");
    const args = [program, "--hash", "--seeds", String(HASHED_SEEDS)];
    const { stdout } = spawnSync(newerNode, args, { encoding: "utf8" });
    const again = stdout.match(/^seed \d+: [0-9a-f]{16}$/gm) ?? [];
    t.equal(again.length, HASHED_SEEDS);
    t.strictSame(again, hashes.slice(0, HASHED_SEEDS));
  });
});
