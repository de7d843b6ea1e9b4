/** Runs a supervisor of two workers in its own process, or of three that may be silent. */
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { superviseWorkers } from "../../../core/process/supervisor.ts";

const script = fileURLToPath(new URL("./worker-child.js", import.meta.url));
const log = pino({ level: "silent" });
const args = process.argv.slice(2);
const [workers, aliveMs] = args[0] === "silent" ? [3, 60_000] : [2, 250];
process.exit(await superviseWorkers({ script, args, workers, log, aliveMs }));
