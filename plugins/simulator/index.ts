/**
 * Runs the simulated provider beside the gateway, so that the default configuration needs no real
 * one.
 */
import { Worker } from "node:worker_threads";
import {
  allowPublic,
  type Config,
  type Fault,
  type Plugin,
  publicHost,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import type { SimulatorOptions } from "./server.ts";
import type { WorkerReport } from "./worker.ts";

/** Options of the plugin in the configuration. */
export const options = v.strictObject({
  port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)), 9001),
  host: v.optional(v.string(), "127.0.0.1"),
  allow_public: allowPublic,
});

export function review(
  { host, port, allow_public }: v.InferOutput<typeof options>,
  { listen, admin }: Config,
): readonly Fault[] {
  const faults = [...publicHost(host, allow_public, ["host"], "it serves everyone, without a key")];
  const { listen: own } = admin;
  if (port === listen.port) {
    faults.push({ path: ["port"], message: "expected a port other than listen.port" });
  } else if (own && port === own.port) {
    faults.push({ path: ["port"], message: "expected a port other than admin.listen.port" });
  }
  return faults;
}

/**
 * Makes the plugin. `start` resolves once the simulator listens, `stop` once its thread has ended.
 */
export default function simulator({ log }: Pick<Services, "log">, given: unknown): Plugin {
  const address = v.parse(options, given);
  let worker: Worker | undefined;
  return {
    name: "simulator",
    // It serves the calls in flight, so it stops after them.
    ended() {},
    async start() {
      worker = await startWorker(address);
      worker.on("message", (report: WorkerReport) => {
        if ("error" in report) log.error(`the simulator failed, and starts again: ${report.error}`);
      });
    },
    async stop() {
      if (worker === undefined) return;
      const ended = new Promise((resolve) => worker?.once("exit", resolve));
      worker.postMessage("close");
      await ended;
      worker = undefined;
    },
  };
}

function startWorker(address: SimulatorOptions): Promise<Worker> {
  // The compiler rewrites import paths, but not URLs. At run time the file is a .js file.
  const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: address });
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (report: WorkerReport) => {
      if ("port" in report) resolve(worker);
      else reject(new Error(`${report.error} ${advice(address)}`));
    });
  });
}

function advice({ port }: SimulatorOptions): string {
  const other = port === 65_535 ? port - 1 : port + 1;
  return (
    `Set another port in the configuration, under plugins: "- simulator: { port: ${other} }", ` +
    "and the same port in the upstreams that use the simulator. Or stop the process on that port, or correct the host."
  );
}
