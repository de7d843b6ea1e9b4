import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";

/** The SQL of the ledger runs against a real Postgres in its own tests; a simulation puts a model in its place. */
const NOT_SIMULATED = /^ledger\b/;

/** What code must take from its `Machine`: anything else would make two runs of one seed differ. */
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

  t.test(
    "takes time, timers, chance, sockets and files from the machine that it is given",
    async (t) => {
      const code = (file: string) =>
        readFileSync(join(folder, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
      t.strictSame(
        files.filter((file) => FORBIDDEN.test(code(file))),
        [],
      );
    },
  );
});
