import type { LookupFunction, Socket } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import connectorOf from "undici/lib/core/connect.js";
import symbols from "undici/lib/core/symbols.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Client from "undici/lib/dispatcher/client.js";
import Pool from "undici/lib/dispatcher/pool.js";
import poolParts from "undici/lib/dispatcher/pool-base.js";
import { freeBodiesOf } from "./freed-bodies.ts";
import { addressMs } from "./known-addresses.ts";
import { openTunnel } from "./proxy.ts";
import { watchReplies } from "./unanswered.ts";

const RESET = "ECONNRESET";

interface Reach {
  readonly connectMs: number;
  readonly lookup: LookupFunction;
  /** Returns the proxy for an origin; undefined to connect directly. */
  proxyFor(origin: Pick<URL, "protocol" | "hostname">): URL | undefined;
}

/**
 * Opens connections to upstreams. If one is reset whose reply says `connection: close`, undici ends the reply there, and
 * throws if the reply is paused, outside of any call: one slow client would end the process. Hides the kind of the error
 * from undici until it fails the request with it.
 */
export function upstreamConnector({
  connectMs,
  lookup,
  proxyFor,
}: Reach): buildConnector.connector {
  const connect = connectorOf({
    timeout: connectMs,
    lookup,
    autoSelectFamilyAttemptTimeout: addressMs(connectMs),
  });
  return (options, callback) => {
    const { protocol, hostname } = options;
    const ready: buildConnector.Callback = (...result) => {
      const [, socket] = result;
      if (socket) prepare(socket);
      callback(...result);
    };
    const direct = (httpSocket?: Socket) =>
      connect(httpSocket ? { ...options, httpSocket } : options, ready);
    const proxy = proxyFor({ protocol, hostname });
    if (!proxy) return direct();
    const port = Number(options.port) || (protocol === "https:" ? 443 : 80);
    openTunnel(proxy, hostname, port, { timeoutMs: connectMs, lookup }, (error, socket) => {
      if (!socket) return callback(error ?? new Error("no tunnel"), null);
      if (protocol === "https:") return direct(socket);
      prepare(socket.setNoDelay(true));
      callback(null, socket);
    });
  };
}

function prepare(socket: Socket): void {
  freeBodiesOf(socket);
  watchReplies(socket);
  holdEnd(socket);
  // undici adds its own listeners in the callback, so this one runs first.
  socket.on("error", (error: NodeJS.ErrnoException) => hideReset(socket, error));
}

function hideReset(socket: Socket, error: NodeJS.ErrnoException): void {
  if (error.code !== RESET) return;
  error.code = "";
  socket.prependOnceListener("close", () => {
    error.code = RESET;
  });
}

/**
 * Keeps the end of a connection from undici while the reply on it is paused. undici would end the reply there: a whole
 * one fails, and if it says `connection: close`, undici throws outside of any call, which ends the process. Its version
 * 8 has a fix, and needs Node 22.
 *
 * undici pauses by putting back what it has not parsed, and goes on by reading.
 */
function holdEnd(socket: Socket): void {
  const { push, read, unshift } = socket;
  let isPaused = false;
  let isHeld = false;
  const release = () => {
    if (isPaused || !isHeld) return;
    isHeld = false;
    // As Node itself does at the end: reading nothing emits it.
    push.call(socket, null);
    read.call(socket, 0);
  };
  socket.unshift = (...given) => {
    isPaused = true;
    return unshift.apply(socket, given);
  };
  socket.read = (size?: number) => {
    if (size !== undefined) return read.call(socket, size);
    isPaused = false;
    if (isHeld) process.nextTick(release);
    return read.call(socket);
  };
  socket.push = (...given) => {
    if (given[0] !== null || !isPaused) return push.apply(socket, given);
    isHeld = true;
    return false;
  };
}

// All of undici takes 10 MB more, for parts that the gateway never uses.

interface AgentSettings {
  /** Maximum connections at the same time. */
  readonly connections: number;
  /** Greatest age of a connection: an older one is closed after its call, so that a new address of the name is found. */
  readonly ageMs: number;
  /** Longest wait for the head of a reply, and between two parts of its body. */
  readonly silenceMs: number;
  readonly connect: buildConnector.connector;
}

/** The option of a request that must not go on an idle connection, unless no more are allowed. */
interface NewConnection {
  readonly newConnection?: boolean;
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
    factory: (origin, options) => new AgedPool(origin, options, ageMs, connections),
  });
}

/**
 * undici's pool reads the clock for each busy connection until it finds an idle one, twice a call, to close those that are
 * older than `clientTtl`: 10 µs with 64 calls in flight, 110 µs with 1,000. This one does so for idle ones alone.
 */
class AgedPool extends Pool {
  /** True for a request that wants a new connection. */
  private wantsNew = false;
  /** Creates another connection as the last one was; undefined before the first. */
  private readonly createAnother: () => Client | undefined;

  constructor(
    origin: string | URL,
    options: object,
    private readonly ageMs: number,
    private readonly connections: number,
  ) {
    let create: (() => Client) | undefined;
    const factory = (url: URL, own: object) => {
      create = () => newClient(url, own);
      return create();
    };
    super(origin, { ...options, factory });
    this.createAnother = () => create?.();
  }

  override dispatch(
    options: Dispatcher.DispatchOptions & NewConnection,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    this.wantsNew = options.newConnection === true;
    return super.dispatch(options, handler);
  }

  /** Returns an idle connection, or a new one; undefined if there are as many as allowed. */
  override [poolParts.kGetDispatcher](): Dispatcher | undefined {
    const clients = this[poolParts.kClients];
    const { wantsNew } = this;
    this.wantsNew = false;
    const another =
      wantsNew && clients.length < this.connections ? this.createAnother() : undefined;
    if (another) {
      this[poolParts.kAddClient](another);
      return another;
    }
    for (let at = 0; at < clients.length; at++) {
      const client = clients[at];
      if (!client || client[poolParts.kNeedDrain]) continue;
      // Too old: undici's own closes it, and opens another one.
      if (client.ttl && Date.now() - client.ttl > this.ageMs) break;
      return client;
    }
    return super[poolParts.kGetDispatcher]();
  }
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
