import { spawnSync } from "node:child_process";
import { type Child, type Children, untilReady } from "./children.ts";
import type { Job, Report } from "./load/job.ts";
import { LOAD_CORE, script } from "./targets.ts";

/** The load generator. Runs one job at a time. */
export interface Generator {
  run(job: Job): Promise<Report>;
  end(): Promise<void>;
}

/** Starts the generator on the core of the upstream, separate from the proxy's. */
export async function startGenerator(children: Children): Promise<Generator> {
  const child = children.start("load", { ...script("load.js"), core: LOAD_CORE, ipc: true });
  let ready = false;
  child.process.once("message", () => {
    ready = true;
  });
  await untilReady("the load generator", child, () => ready);
  const awake = keepLoadAwake(children);
  return {
    run: (job) => run(child, job),
    async end() {
      await awake?.end();
      await child.end();
    },
  };
}

/**
 * Spins on the load's core at idle priority. Sending to a sleeping core wakes it, which in a
 * virtual machine costs the sender 10 µs or more. A slow proxy would pay that in most calls, a fast
 * one almost never. Does nothing if the cores are shared or `chrt` is missing.
 */
function keepLoadAwake(children: Children): Child | undefined {
  if (!children.pinned || spawnSync("chrt", ["--version"]).status !== 0) return undefined;
  const args = ["--idle", "0", process.execPath, "--eval", "for (;;);"];
  return children.start("awake", { command: "chrt", args, core: LOAD_CORE });
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
