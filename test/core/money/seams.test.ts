import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";

/** The ledger's SQL is tested on a real Postgres; the simulated world uses a model instead. */
const NOT_SIMULATED = /^ledger\b/;

/** Code must take these from its `Machine`; otherwise two runs of one seed differ. */
const FORBIDDEN =
  /\bDate\.now\b|new Date\(\)|\bperformance\b|\bset(?:Timeout|Interval|Immediate)\b|\bMath\.random\b|\brandom(?:UUID|Bytes)\b|["']node:(?:fs|net|timers|http|child_process|worker_threads)\b/;

const folder = join(packageRoot, "core/money");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".ts") && !NOT_SIMULATED.test(file),
);

t.test("the code of money", async (t) => {
  t.test("is found", async (t) => {
    t.ok(files.length > 30, `${files.length} files`);
  });

  t.test("takes time, timers, randomness, sockets and files from its machine", async (t) => {
    const code = (file: string) =>
      readFileSync(join(folder, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    t.strictSame(
      files.filter((file) => FORBIDDEN.test(code(file))),
      [],
    );
  });
});
