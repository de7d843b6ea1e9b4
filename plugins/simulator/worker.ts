/** Runs a simulator in its own thread, so that it does not block the gateway's event loop. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../core/plugin/index.ts";
import { type SimulatorOptions, startSimulator } from "./server.ts";

/** The first message of the thread: the port it listens on, or why it cannot listen. Later ones: of what it recovered. */
export type WorkerReport = { readonly port: number } | { readonly error: string };

const report = (message: WorkerReport) => parentPort?.postMessage(message);
const start = () => startSimulator(workerData as SimulatorOptions);
const failed = (error: unknown) => report({ error: messageOf(error) });

try {
  let simulator = await start();
  // The call that threw would never end. A thread that dies with open sockets of the native listener ends the gateway.
  process.on("uncaughtException", (error) => {
    failed(error);
    simulator.close();
    start().then((next) => {
      simulator = next;
    }, failed);
  });
  parentPort?.once("message", () => {
    simulator.close();
    parentPort?.close();
  });
  report({ port: simulator.port });
} catch (error) {
  failed(error);
}
