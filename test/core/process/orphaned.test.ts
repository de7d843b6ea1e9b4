import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";

const SUPERVISOR = pathToFileURL(join(packageRoot, "dist/core/process/supervisor.js")).href;

t.test("a worker ends if its supervisor died while it started", async (t) => {
  const program = `
import { whenOrphaned } from "${SUPERVISOR}";
setInterval(() => process.connected || whenOrphaned(() => process.exit(7)), 10);`;
  const worker = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  t.teardown(() => worker.kill("SIGKILL"));
  worker.disconnect();
  const [code] = await once(worker, "exit");
  t.equal(code, 7);
});
