import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { upstreamConnector } from "../../../core/upstream/connect.ts";
import { openTunnel } from "../../../core/upstream/proxy.ts";

const CONNECT_MS = 10_000;

/** A server that accepts no connection until `gate` is opened: the kernel then drops what begins one, as a far network does. */
const SERVER = `
const { parentPort, workerData } = require("node:worker_threads");
const server = require("node:net").createServer((socket) => {
  socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 200 OK\\r\\n\\r\\n"));
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(workerData), 0, 0);
});
`;

/** Resolves with the port of a server whose first handshakes take a second. */
async function slowServer(t: Test): Promise<number> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(SERVER, { eval: true, workerData: gate.buffer });
  const [port] = await once(worker, "message");
  const others = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  const open = () => {
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    for (const other of others) other.destroy();
  };
  t.teardown(async () => {
    open();
    await worker.terminate();
  });
  // The first ones fill the queue of the server.
  await delay(200);
  void delay(500).then(open);
  return port;
}

/** The name of a provider with a second address that this machine cannot reach, as of IPv6 without a route. */
const lookup: NonNullable<Parameters<typeof upstreamConnector>[0]["lookup"]> = (
  _name,
  { all },
  callback,
) => {
  const addresses = ["127.0.0.1", "127.0.0.9"].map((address) => ({ address, family: 4 }));
  if (all) callback(null, addresses);
  else callback(null, "127.0.0.1", 4);
};

t.test("a far provider with several addresses is reached", async (t) => {
  const port = await slowServer(t);
  const reach = { connectMs: CONNECT_MS, lookup, proxyFor: () => undefined };
  const address = { hostname: "far.example", host: "far.example", protocol: "http:" };
  const result = await new Promise<string>((resolve) => {
    upstreamConnector(reach)({ ...address, port: String(port) }, (error, socket) => {
      socket?.destroy();
      resolve(error ? String("code" in error ? error.code : error) : "connected");
    });
  });
  t.equal(result, "connected");
});

t.test("a far proxy with several addresses is reached", async (t) => {
  const port = await slowServer(t);
  const proxy = new URL(`http://far.example:${port}`);
  const result = await new Promise<string>((resolve) => {
    openTunnel(proxy, "a.example", 443, { timeoutMs: CONNECT_MS, lookup }, (error, socket) => {
      socket?.destroy();
      resolve(error ? String("code" in error ? error.code : error) : "connected");
    });
  });
  t.equal(result, "connected");
});
