import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";

/** Runs in every thread before its own module: the system refuses each change of a priority. */
const FORBIDDEN = `import os from "node:os";
import { syncBuiltinESMExports } from "node:module";
os.setPriority = () => { throw new Error("EPERM"); };
syncBuiltinESMExports();`;

t.test("threads work on a system that forbids them a lower priority", async (t) => {
  const preload = `data:text/javascript,${encodeURIComponent(FORBIDDEN)}`;
  const child = fileURLToPath(new URL("thread-priority-child.js", import.meta.url));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--import", preload, child]);
  t.equal(stdout.trim(), "hello");
});
