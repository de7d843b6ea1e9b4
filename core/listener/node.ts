import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Handler, Listener } from "./listener.ts";
import { PortInUse } from "./listener.ts";
import { NodeRequest } from "./node-request.ts";
import { IDLE_MS, NodeResponse } from "./node-response.ts";
import { pauseOfClients } from "./pause-of-clients.ts";

/** Bytes that a socket takes before it is full, the same as in the native engine. */
const SOCKET_BYTES = 65_536;
const CHECK_MS = 2_000;
/** Requests that one connection may send in one turn of the event loop: a packet may have hundreds. */
const PIPELINED_MAX = 64;

/** Opens a listener on `node:http`. */
export function openNode(headerBytesMax: number, shared = false): Listener {
  if (shared && !canSharePort(process.versions.node)) {
    throw new Error(
      "listen.workers: several workers need the native HTTP engine, or Node 22.12 or later; set 1",
    );
  }
  const handlers = new Map<string, Handler>();
  let fallback: Handler = (response) => response.close();
  /** The last response on each connection. */
  const latest = new WeakMap<Socket, ServerResponse>();
  const isFlooded = floodWatch();
  let isStopping = false;
  let connections = 0;
  let taken = 0;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isFlooded(incoming.socket)) return void incoming.socket.destroy();
    latest.set(incoming.socket, outgoing);
    if (isStopping) outgoing.shouldKeepAlive = false;
    if (incoming.httpVersion !== "1.1") return refuse(outgoing, 505, "Only HTTP/1.1 is served.");
    if (incoming.headers.host === undefined) {
      return refuse(outgoing, 400, "The request lacks the header host.");
    }
    const request = new NodeRequest(incoming);
    const handler = handlers.get(`${incoming.method} ${request.getUrl()}`) ?? fallback;
    handler(new NodeResponse(incoming, outgoing), request);
  };
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      // `serve` refuses such a request, and says what is missing.
      requireHostHeader: false,
      headersTimeout: IDLE_MS,
      keepAliveTimeout: IDLE_MS,
      // A body may take longer, as long as it arrives.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_MS,
      highWaterMark: SOCKET_BYTES,
    },
    serve,
  );
  // By default `node:http` silently drops headers beyond a certain number. Their bytes are limited anyway.
  server.maxHeadersCount = 0;
  // As in the native engine, an unknown expectation is no reason to refuse.
  server.on("checkExpectation", serve);
  server.on("connect", (_, socket: Duplex) => {
    writeRefusal(socket, "405 Method Not Allowed", "This is no proxy: CONNECT is not served.");
  });
  server.on("clientError", (error: Unreadable, socket: Socket) => {
    const response = latest.get(socket);
    // If the previous response has begun and not ended, this one would be read as the rest of it.
    if (response?.headersSent && !response.writableFinished) socket.destroy();
    else refuseUnreadable(error, socket);
  });
  server.on("timeout", (socket) => socket.destroy());
  server.on("connection", (socket: Socket) => {
    connections++;
    taken++;
    socket.once("close", () => connections--);
  });
  return {
    engine: "node",
    get: (path, handler) => void handlers.set(`GET ${path}`, handler),
    post: (path, handler) => void handlers.set(`POST ${path}`, handler),
    any: (_, handler) => {
      fallback = handler;
    },
    listen: (host, port, shared) => listen(server, host, port, shared),
    get connections() {
      return connections;
    },
    async stopListening() {
      await pauseOfClients(() => taken);
      // That of `node:http` would also close the connections that are idle at this moment.
      NetServer.prototype.close.call(server);
      isStopping = true;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(
  server: Server,
  host: string,
  port: number,
  shared: boolean,
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", () => reject(new PortInUse(host, port)));
    const options = { host, port, exclusive: true, ...(shared && { reusePort: true }) };
    server.listen(options, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Returns a function to call with the connection of each request: it returns true if that sent too many in this turn. */
function floodWatch(): (socket: Socket) => boolean {
  const counts = new Map<Socket, number>();
  return (socket) => {
    if (counts.size === 0) setImmediate(() => counts.clear());
    const count = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, count);
    return count > PIPELINED_MAX;
  };
}

/** `SO_REUSEPORT` came with Node 22.12 and 23.1. */
function canSharePort(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/** Refuses a client of HTTP/1.0, which could not tell a stream that was cut from a whole one, or one without a host. */
function refuse(outgoing: ServerResponse, status: number, message: string): void {
  outgoing.writeHead(status, { connection: "close", "content-type": "application/json" });
  outgoing.end(errorBody(message));
}

/** The error of the parser of `node:http`. */
interface Unreadable extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** Refuses a request that is not valid HTTP. */
function refuseUnreadable({ code, rawPacket }: Unreadable, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const isLarge = code === "HPE_HEADER_OVERFLOW";
  const status = isLarge ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const message = isLarge ? "The headers are too large." : "The request is not valid HTTP.";
  const isHead = rawPacket?.subarray(0, 5).toString("latin1") === "HEAD ";
  writeRefusal(socket, status, message, isHead);
}

/** Writes a reply on a connection for which `node:http` offers no response, and ends it. */
function writeRefusal(socket: Duplex, status: string, message: string, isHead = false): void {
  const body = errorBody(message);
  const head = `connection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${isHead ? "" : body}`);
}

/** Nothing is known of the request, so the error has the shape that most clients read. */
function errorBody(message: string): string {
  return JSON.stringify({ error: { message, type: "invalid_request_error" } });
}
