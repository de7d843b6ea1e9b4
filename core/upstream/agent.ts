import type { buildConnector } from "undici";
// All of undici takes 10 MB more, for parts that the gateway never uses.
import symbols from "undici/lib/core/symbols.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Client from "undici/lib/dispatcher/client.js";
import Pool from "undici/lib/dispatcher/pool.js";

interface AgentSettings {
  /** Maximum connections at the same time. */
  readonly connections: number;
  /** Greatest age of a connection: an older one is closed after its call, so that a new address of the name is found. */
  readonly ageMs: number;
  /** Longest wait for the head of a reply, and between two parts of its body. */
  readonly silenceMs: number;
  readonly connect: buildConnector.connector;
}

/** The connections to one upstream. */
export function upstreamAgent({ connections, ageMs, silenceMs, connect }: AgentSettings): Agent {
  return new Agent({
    connections,
    pipelining: 1,
    connect,
    clientTtl: ageMs,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    keepAliveTimeout: 30_000,
    // The same limit as for a client's headers.
    maxHeaderSize: 65_536,
    factory: (origin, options) => new Pool(origin, { ...options, factory: newClient }),
  });
}

/**
 * undici keeps an aborted request in its queue until it has opened another connection for it (nodejs/undici#5845). Each
 * stream that a client leaves would leave one more connection that nothing uses.
 */
function newClient(origin: URL, options: object): Client {
  const client = new Client(origin, options);
  client.on("disconnect", () => {
    const queue = client[symbols.kQueue];
    const at = client[symbols.kPendingIdx];
    while (queue[at]?.aborted) queue.splice(at, 1);
  });
  return client;
}
