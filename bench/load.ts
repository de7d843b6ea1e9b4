/** The load generator process. Receives jobs as messages and sends a report for each. */
import type { Job } from "./load/job.ts";
import { closedLoop, holdOpen, openLoop } from "./load/loops.ts";

let release = () => {};

process.on("disconnect", () => process.exit(0));
process.on("message", async (job: Job) => {
  release();
  release = () => {};
  if (job.hold) {
    const held = await holdOpen(job);
    release = held.release;
    process.send?.(held.report);
  } else if (job.rate !== undefined) process.send?.(await openLoop({ ...job, rate: job.rate }));
  else process.send?.(await closedLoop(job));
});
process.send?.("ready");
