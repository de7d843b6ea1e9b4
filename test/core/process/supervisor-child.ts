/** Runs a supervisor of two workers in its own process. */
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { superviseWorkers } from "../../../core/process/supervisor.ts";

const script = fileURLToPath(new URL("./worker-child.js", import.meta.url));
const log = pino({ level: "silent" });
const args = process.argv.slice(2);
process.exit(await superviseWorkers({ script, args, workers: 2, log, aliveMs: 250 }));
