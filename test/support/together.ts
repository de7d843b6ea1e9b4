import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { FILE_BEGINS } from "./tap-results.ts";

/**
 * Runs several test files in this process, one after the other: starting Node and loading tap takes longer than
 * most of them. The arguments are the time that a file may take, and their paths in `dist/test`. A comment names the file whose tests follow.
 */
const [timeoutMs, ...paths] = process.argv.slice(2);
for (const path of paths) {
  // Begins again: the time of a file.
  t.setTimeout(Number(timeoutMs));
  t.comment(`${FILE_BEGINS}${path}`);
  try {
    await import(join(packageRoot, "dist", "test", path));
  } catch (error) {
    t.fail("cannot load the file", { error });
  }
  while (!t.idle) await once(t, "idle");
}
