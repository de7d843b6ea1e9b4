import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { PLANTS } from "./plants.ts";

const program = join(packageRoot, "dist/test/world/index.js");
const SEEDS = 40;

/** Proves that the judge detects violations. */
t.test("a simulated world finds the planted bug:", async (t) => {
  for (const name of Object.keys(PLANTS)) {
    t.test(name, async (t) => {
      const args = ["--plant", name, "--focus", "--first", "--seeds", String(SEEDS)];
      const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
        encoding: "utf8",
      });
      t.equal(stderr.includes("out of date"), false, stderr);
      t.match(stdout, /^seed \d+: .*\n {2}\S/m, "a seed with its violations");
      t.equal(status, 1);
    });
  }
});
