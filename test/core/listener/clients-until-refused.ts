import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

/** How the requests of all clients ended until one could not connect. */
export interface Outcome {
  served: number;
  /** Connected, and lost without a reply. */
  resets: number;
}

const REQUEST = "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";

/** A thread of clients that open a connection for each request, until their server refuses one. */
async function main({ port, clients }: { port: number; clients: number }): Promise<void> {
  const outcome: Outcome = { served: 0, resets: 0 };
  let isRefused = false;
  const request = () =>
    new Promise<void>((resolve) => {
      let isOpen = false;
      let reply = "";
      const socket = connect(port, "127.0.0.1", () => {
        isOpen = true;
        socket.write(REQUEST);
      });
      socket.on("data", (data) => {
        reply += data;
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        if (!isOpen) isRefused = true;
        else if (reply.includes("200 OK")) outcome.served++;
        else outcome.resets++;
        resolve();
      });
    });
  const client = async () => {
    while (!isRefused) await request();
  };
  await Promise.all(Array.from({ length: clients }, client));
  parentPort?.postMessage(outcome);
}

await main(workerData);
