// Before tap: see there.
import "./thrown-errors.ts";
import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { FILE_BEGINS, FILES_TOGETHER } from "./tap-results.ts";

/**
 * Runs test files in this process, one after the other: starting Node and loading tap takes longer than most of
 * them. A comment names the file whose tests follow.
 *
 * The environment names the files and the seconds that each may take. As arguments, the files would be part of the
 * name of each folder that `t.testdir` creates, which is too long then; the only argument is the first file.
 */
const { [FILES_TOGETHER]: paths = "", TAP_TIMEOUT: seconds } = process.env;
delete process.env[FILES_TOGETHER];
/** The hooks of a file for the end of its tests, the last first: tap would run them when the process ends. */
const endings: (() => unknown)[] = [];
t.after = t.teardown = (end: () => unknown) => void endings.unshift(end);
for (const path of paths.split(",")) {
  // Begins again for each file.
  t.setTimeout(Number(seconds) * 1000);
  t.comment(`${FILE_BEGINS}${path}`);
  try {
    await import(join(packageRoot, "dist", "test", path));
  } catch (error) {
    t.fail("cannot load the file", { error });
  }
  while (!t.idle) await once(t, "idle");
  for (const end of endings.splice(0)) {
    try {
      await end();
    } catch (error) {
      t.fail("cannot end the file", { error });
    }
  }
}
