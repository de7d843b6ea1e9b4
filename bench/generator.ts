import { type Child, type Children, untilReady } from "./children.ts";
import type { Job, Report } from "./load/job.ts";
import { script } from "./targets.ts";

/** The load generator as the scenarios see it: one job at a time. */
export interface Generator {
  run(job: Job): Promise<Report>;
  end(): Promise<void>;
}

/** Starts the generator beside the upstream, away from the proxy's core. */
export async function startGenerator(children: Children): Promise<Generator> {
  const child = children.start("load", { ...script("load.js"), core: 1, ipc: true });
  let ready = false;
  child.process.once("message", () => {
    ready = true;
  });
  await untilReady("the load generator", child, () => ready);
  return { run: (job) => run(child, job), end: () => child.end() };
}

function run(child: Child, job: Job): Promise<Report> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`the load generator ended:\n${child.output()}`));
    child.process.once("exit", onExit);
    child.process.once("message", (report: Report) => {
      child.process.off("exit", onExit);
      resolve(report);
    });
    child.process.send(job);
  });
}
