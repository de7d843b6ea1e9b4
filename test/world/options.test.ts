import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { FAULTS, namesOf, STORES } from "./fault-names.ts";
import { faults } from "./faults.ts";
import { parseOptions } from "./options.ts";
import { planWorld } from "./world-plan.ts";

t.test("npm run simulate", async (t) => {
  t.test("lists its options, faults and stores for --help", async (t) => {
    const program = join(packageRoot, "dist/test/world/index.js");
    const { status, stdout } = spawnSync(process.execPath, [program, "--help"], {
      encoding: "utf8",
    });
    t.equal(status, 0);
    const options = ["--seeds", "--gateways", "--faults", "--plant", "--trace"];
    for (const name of [...options, ...namesOf(FAULTS), ...STORES]) t.match(stdout, name);
  });

  t.test("has the code of every fault that it lists", async (t) => {
    t.strictSame(Object.keys(faults).sort(), namesOf(FAULTS).sort());
  });

  t.test("refuses what it does not know", async (t) => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ["--nope", /--nope/],
      ["--store=memory", /no store memory; there are embedded, redis/],
      ["--faults=nope=5", /no fault nope/],
      ["--faults=kill=soon", /a whole number above 0, not soon/],
      ["--gateways=51", /at most 50/],
      ["--plant=nope", /no plant nope/],
    ];
    for (const [arg, message] of wrong) t.throws(() => parseOptions([arg]), message);
    t.throws(() => parseOptions(["--store=embedded", "--gateways=2"]), /one gateway/);
  });

  t.test("runs as many gateways as are wanted, on Redis", async (t) => {
    const options = parseOptions(["--gateways", "50", "--faults", "kill=2000,redisCut"]);
    t.match(options, { store: "redis", gateways: 50, faults: { kill: 2_000, redisCut: 5_000 } });
    t.equal(planWorld(1, { store: "redis", gateways: 50 }).gateways, 50);
  });
});
