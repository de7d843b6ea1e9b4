import { execFileSync } from "node:child_process";
import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readLines, writeLines } from "../../../plugins/admin/cli/archive-file.ts";
import { newerNode } from "../../support/newer-node.ts";

const LINES = ["a\u2028b", "c\u2029d\u0085e", "tiếng Việt ".repeat(50_000), "", "last"];

async function written(t: Test): Promise<string> {
  const path = join(t.testdir(), "month.gz");
  async function* lines() {
    yield* LINES;
  }
  await writeLines(path, lines());
  return path;
}

async function readBack(path: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(path)) lines.push(line);
  return lines;
}

t.test("lines of an archive end where they were ended", async (t) => {
  const path = await written(t);
  t.strictSame(await readBack(path), LINES);
});

const skip = existsSync(newerNode) ? false : "no other Node on this system";
t.test("and so on Node 24", { skip }, async (t) => {
  const module = new URL("../../../plugins/admin/cli/archive-file.js", import.meta.url).href;
  const path = JSON.stringify(await written(t));
  const program = `import { readLines } from ${JSON.stringify(module)};
console.log(JSON.stringify(await Array.fromAsync(readLines(${path}))));`;
  const args = ["--input-type=module", "--eval", program];
  t.strictSame(JSON.parse(execFileSync(newerNode, args, { encoding: "utf8" })), LINES);
});

t.test("a file that is cut off or missing is refused, with its name", async (t) => {
  const path = await written(t);
  truncateSync(path, 50);
  await t.rejects(readBack(path), { message: /^cannot read .*month\.gz: / });
  const missing = join(path, "none");
  await t.rejects(readBack(missing), { message: /none: ENOTDIR/ });
});
