import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";

const CHILD = fileURLToPath(new URL("./keep-freed-memory-child.js", import.meta.url));
/** All pages of the bodies that the child takes a second time. */
const PAGES = (40 * 524_288) / 4_096;

const RUNS = 5;

/** Only glibc gives memory back so soon. */
const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
const skip = header?.glibcVersionRuntime === undefined;

t.test("bodies after a collection do not fault their memory in again", { skip }, async (t) => {
  // A machine that is short of memory takes pages back by itself, so the best of some runs counts.
  let faults = PAGES;
  for (let run = 0; run < RUNS && faults >= PAGES / 4; run += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", CHILD]);
    faults = Math.min(faults, Number(stdout));
  }
  t.ok(faults < PAGES / 4, `${PAGES} pages, ${faults} page faults`);
});
