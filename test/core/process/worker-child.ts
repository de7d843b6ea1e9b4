/**
 * A worker for the tests of the supervisor: prints its process id; ends by SIGTERM, or if the
 * supervisor dies.
 */
import { isWorker, whenOrphaned } from "../../../core/process/supervisor.ts";
import { SupervisedWorkers } from "../../../core/process/workers.ts";

const [behaviour] = process.argv.slice(2);
if (behaviour === "broken" || !isWorker()) process.exit(3);
const workers = new SupervisedWorkers();
workers.report("pids", () => process.pid);
process.on("SIGTERM", () => {
  process.stdout.write(`term ${process.pid}\n`);
  process.exit(0);
});
process.on("SIGHUP", () => {
  process.stdout.write(`hup ${process.pid}\n`);
  if (behaviour === "stuck") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
whenOrphaned(() => {
  process.stdout.write(`orphan ${process.pid}\n`);
  process.exit(0);
});
setInterval(() => {}, 60_000);
process.on("SIGUSR2", async () => {
  const { worker: own, all } = await workers.ask("pids");
  for (const { worker, report } of all) {
    if (worker !== own) process.stdout.write(`heard ${report}\n`);
  }
});
process.stdout.write(`start ${process.pid}\n`);
