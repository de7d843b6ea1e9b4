/** Runs a simulator in a thread of its own, so that it does not take the gateway's time. */
import { parentPort, workerData } from "node:worker_threads";
import { startSimulator } from "./server.ts";

/** What the thread tells once: that it listens, or why it does not. */
export type WorkerReport = { readonly port: number } | { readonly error: string };

/** What the thread is given. */
export interface WorkerOptions {
  readonly host: string;
  readonly port: number;
}

const report = (message: WorkerReport) => parentPort?.postMessage(message);

try {
  const simulator = await startSimulator(workerData as WorkerOptions);
  parentPort?.once("message", () => {
    simulator.close();
    parentPort?.close();
  });
  report({ port: simulator.port });
} catch (error) {
  report({ error: error instanceof Error ? error.message : String(error) });
}
