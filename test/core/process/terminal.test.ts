import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { until } from "../../support/until.ts";

const CHILD = fileURLToPath(new URL("./terminal-child.js", import.meta.url));

const isHere = spawnSync("script", ["--quiet", "--command", ":", "/dev/null"]).status === 0;
const options = { skip: !isHere && "needs script of util-linux" };
for (const [what, redirects, first] of [
  ["reloads at a SIGHUP long after its terminal was closed", "", "end"],
  ["takes no end from the terminal of stdin", "> /dev/null 2>&1", "reload"],
  ["takes no end from the terminal of stderr", "< /dev/null > /dev/null", "reload"],
] as const) {
  t.test(`a process ${what}, and ends without a crash`, options, async (t) => {
    const folder = t.testdir({ said: "", end: "" });
    const [said, end] = [join(folder, "said"), join(folder, "end")];
    const words = () => readFileSync(said, "utf8").split(" ").slice(0, -1);
    // The shell outlives the terminal, and says how the process ends.
    const run = `trap : HUP; '${process.execPath}' '${CHILD}' '${said}' ${redirects}; echo $? > '${end}'`;
    const terminal = spawn("script", ["--quiet", "--command", run, "/dev/null"]);
    t.teardown(() => terminal.kill("SIGKILL"));
    await until(
      () => "it starts",
      () => words().length > 0,
    );
    const pid = Number(words()[0]);
    terminal.kill("SIGKILL");
    await once(terminal, "close");
    process.kill(pid, "SIGHUP");
    await until(
      () => "it hears the signal",
      () => words().length > 1,
    );
    t.equal(words()[1], first);
    await until(
      () => "it reloads",
      () => process.kill(pid, "SIGHUP") && words().at(-1) === "reload",
    );
    process.kill(pid, "SIGTERM");
    await until(
      () => "it ends",
      () => readFileSync(end, "utf8") !== "",
    );
    t.equal(readFileSync(end, "utf8"), "0\n");
  });
}
