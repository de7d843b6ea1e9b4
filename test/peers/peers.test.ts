import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { CALL_REPORTS } from "./calls.ts";

t.test("a report about calls names a test that is there", async (t) => {
  for (const [reports, file, name] of CALL_REPORTS) {
    const text = readFileSync(join(packageRoot, "test", file), "utf8");
    t.ok(text.includes(name), `${reports}: ${file} has no "${name}"`);
  }
});
