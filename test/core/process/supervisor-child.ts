/**
 * Runs a supervisor of two workers in its own process, or of three that may be silent. If they are to be missing, SIGUSR2
 * has the program of its workers go and come back.
 */
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { superviseWorkers } from "../../../core/process/supervisor.ts";

const script = fileURLToPath(new URL("./worker-child.js", import.meta.url));
const args = process.argv.slice(2);
const say = (what: string) => process.stdout.write(`${what} ${process.pid}\n`);
const log =
  args[0] === "missing"
    ? pino({ level: "error" }, { write: (line) => line.includes("cannot start") && say("cannot") })
    : pino({ level: "silent" });
const [workers, aliveMs] = args[0] === "silent" ? [3, 60_000] : [2, 250];
const program = process.execPath;
let isMissing = false;
if (args[0] === "missing") {
  process.on("SIGUSR2", () => {
    isMissing = !isMissing;
    process.execPath = isMissing ? "/nonexistent/node" : program;
    say(isMissing ? "missing" : "back");
  });
}
process.exit(await superviseWorkers({ script, args, workers, log, aliveMs }));
