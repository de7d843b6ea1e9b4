/**
 * A worker for the tests of the supervisor: prints its process id; ends by SIGTERM, or if the
 * supervisor dies.
 */
import { whenOrphaned } from "../../../core/process/supervisor.ts";

const [behaviour] = process.argv.slice(2);
if (behaviour === "broken") process.exit(3);
process.on("SIGTERM", () => {
  process.stdout.write(`term ${process.pid}\n`);
  process.exit(0);
});
process.on("SIGHUP", () => process.stdout.write(`hup ${process.pid}\n`));
whenOrphaned(() => {
  process.stdout.write(`orphan ${process.pid}\n`);
  process.exit(0);
});
setInterval(() => {}, 60_000);
process.stdout.write(`start ${process.pid}\n`);
