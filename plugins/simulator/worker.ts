/** Runs a simulator in its own thread, so that it does not block the gateway's event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../core/plugin/index.ts";
import { type SimulatorOptions, startSimulator } from "./server.ts";

/** The only message of the thread: the port it listens on, or why it cannot listen. */
export type WorkerReport = { readonly port: number } | { readonly error: string };

const report = (message: WorkerReport) => parentPort?.postMessage(message);

try {
  const simulator = await startSimulator(workerData as SimulatorOptions);
  parentPort?.once("message", () => {
    simulator.close();
    parentPort?.close();
  });
  report({ port: simulator.port });
} catch (error) {
  report({ error: messageOf(error) });
}
