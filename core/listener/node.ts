import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  type Handler,
  type HttpRequest,
  type HttpResponse,
  type Listener,
  PortInUse,
} from "./listener.ts";
import { pauseOfClients } from "./pause-of-clients.ts";

/** Bytes that a socket takes before it is full, the same as in the native engine. */
const SOCKET_BYTES = 65_536;
const CHECK_MS = 2_000;
/** Requests that one connection may send in one turn of the event loop: a packet may have hundreds. */
const PIPELINED_MAX = 64;

/** Opens a listener on `node:http`. */
export function openNode(headerBytesMax: number, shared: boolean): Listener {
  if (shared && !canSharePort(process.versions.node)) {
    throw new Error(
      "listen.workers: several workers need the native HTTP engine, or Node 22.12 or later; set 1",
    );
  }
  const handlers = new Map<string, Handler>();
  let fallback: Handler = (response) => response.close();
  /** The last response on each connection. */
  const latest = new WeakMap<Socket, ServerResponse>();
  /** The responses on each connection that have not left, in the order of their requests. */
  const queues = new WeakMap<Socket, Set<NodeResponse>>();
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
    handler(new NodeResponse(incoming, outgoing, queues.get(incoming.socket)), request);
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
    const queue = new Set<NodeResponse>();
    queues.set(socket, queue);
    socket.once("close", () => {
      connections--;
      // `node:http` closes the first alone.
      for (const response of queue) response.abort();
    });
  });
  return {
    engine: "node",
    build: "node:http",
    get: (path, handler) => void handlers.set(`GET ${path}`, handler),
    post: (path, handler) => void handlers.set(`POST ${path}`, handler),
    any: (_, handler) => {
      fallback = handler;
    },
    listen: (host, port) => listen(server, host, port, shared),
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

/** The head of a request to `node:http`. */
class NodeRequest implements HttpRequest {
  private readonly path: string;
  private readonly query: string | undefined;

  constructor(private readonly incoming: IncomingMessage) {
    const url = originForm(incoming.url ?? "/");
    const mark = url.indexOf("?");
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? undefined : url.slice(mark + 1);
  }

  getUrl(): string {
    return this.path;
  }

  getQuery(): string | undefined {
    return this.query;
  }

  getCaseSensitiveMethod(): string {
    return this.incoming.method ?? "";
  }

  forEach(each: (name: string, value: string) => void): void {
    const { rawHeaders } = this.incoming;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      each((rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? "");
    }
  }
}

/** A server of HTTP must also accept the whole address, as clients send it to a proxy. */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const path = url.replace(/^https?:\/\/[^/?]*/i, "");
  return path.startsWith("/") || path === url ? path : `/${path}`;
}

/** A connection that sends nothing for this long, in a head, in a body or between requests, is cut. */
const IDLE_MS = 10_000;
/** A reply of which its client reads nothing is cut after this time. */
const UNREAD_MS = 60_000;
/** A whole body is written in parts of this size, so that its reader's progress is seen. */
const PART_BYTES = 65_536;
/** Characters that `node:http` refuses in the value of a header. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/g;
const NOTHING = new ArrayBuffer(0);
/** Statuses without a body, and so without a length. */
const BODILESS = new Set([204, 304]);

/** The response to a request to `node:http`, and its body. */
class NodeResponse implements HttpResponse {
  private status = "200 OK";
  /** Name, value, name, value. */
  private readonly headers: string[] = [];
  private bodyBytes = 0;
  private isOver = false;
  private aborted: (() => void) | undefined = undefined;

  constructor(
    private readonly incoming: IncomingMessage,
    private readonly outgoing: ServerResponse,
    queue = new Set<NodeResponse>(),
  ) {
    const { socket } = incoming;
    queue.add(this);
    socket.setTimeout(IDLE_MS);
    incoming.once("end", () => {
      // A reply that has left set a timeout of its own, which cuts the connection once it is idle.
      if (!this.isOver) socket.setTimeout(0);
    });
    outgoing.once("close", () => {
      queue.delete(this);
      this.abort();
      // The timeout was that of this response.
      const [next] = queue;
      if (next) socket.setTimeout(next.timeoutMs);
    });
  }

  /** Of its connection, once it is the first in the queue. */
  private get timeoutMs(): number {
    if (this.isOver) return UNREAD_MS;
    return this.incoming.complete ? 0 : IDLE_MS;
  }

  onAborted(handler: () => void): this {
    this.aborted = handler;
    return this;
  }

  onData(handler: (lent: ArrayBuffer, isLast: boolean) => void): this {
    const length = Number(this.incoming.headers["content-length"] ?? Number.NaN);
    let received = 0;
    let isWhole = false;
    this.incoming.on("data", (chunk: Buffer) => {
      received += chunk.length;
      // The end of a body of a known length is known with its last piece, which then need not be copied.
      isWhole = received === length;
      if (!this.isOver) handler(new Uint8Array(chunk).buffer, isWhole);
    });
    this.incoming.once("end", () => {
      if (!this.isOver && !isWhole) handler(NOTHING, true);
    });
    return this;
  }

  pause(): void {
    // After a first read, `node:http` leaves the rest of the body alone when the response has ended.
    this.incoming.read(0);
    this.incoming.pause();
  }

  resume(): void {
    this.incoming.resume();
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return new TextEncoder().encode(this.incoming.socket.remoteAddress).buffer;
  }

  writeStatus(line: string): this {
    this.status = line;
    return this;
  }

  writeHeader(name: string, value: string): this {
    const [first = "", ...lines] = value.split("\r\n");
    this.headers.push(name, first.replace(UNSENDABLE, "?"));
    for (const line of lines) {
      const colon = line.indexOf(": ");
      this.headers.push(line.slice(0, colon), line.slice(colon + 2).replace(UNSENDABLE, "?"));
    }
    return this;
  }

  write(chunk: string | Uint8Array): boolean {
    this.writeHead();
    const fits = this.outgoing.write(chunk);
    if (!fits) this.incoming.socket.setTimeout(UNREAD_MS);
    return fits;
  }

  tryEnd(chunk: Uint8Array, bytes: number): [boolean, boolean] {
    this.writeHead(bytes);
    let fits = true;
    for (let at = 0; fits && at < chunk.length; at += PART_BYTES) {
      const part = chunk.subarray(at, at + PART_BYTES);
      this.bodyBytes += part.length;
      fits = this.write(part);
    }
    if (this.bodyBytes < bytes) return [fits, false];
    this.finish();
    return [true, true];
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.outgoing.on("drain", () => {
      if (this.isOver) return;
      this.incoming.socket.setTimeout(0);
      handler(this.bodyBytes);
    });
    return this;
  }

  end(body: string | Uint8Array = "", closesConnection = false): this {
    if (closesConnection && !this.outgoing.headersSent) this.headers.push("connection", "close");
    this.writeHead(Buffer.byteLength(body));
    this.finish(body);
    return this;
  }

  endWithoutBody(): this {
    this.writeHead();
    this.finish();
    return this;
  }

  cork(write: () => void): this {
    // Does not cork the response: after its `end`, it would write what it has gathered behind the end.
    const { socket } = this.incoming;
    socket.cork();
    try {
      write();
    } finally {
      socket.uncork();
    }
    return this;
  }

  close(): this {
    try {
      this.abort();
    } finally {
      this.incoming.socket.destroy();
    }
    return this;
  }

  abort(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.aborted?.();
  }

  /** Without `bytes`, the body is chunked. */
  private writeHead(bytes?: number): void {
    if (this.outgoing.headersSent) return;
    const code = Number(this.status.slice(0, 3));
    if (bytes !== undefined && !BODILESS.has(code)) {
      this.headers.push("content-length", String(bytes));
    }
    this.outgoing.writeHead(code, this.status.slice(4), this.headers);
  }

  private finish(body?: string | Uint8Array): void {
    this.isOver = true;
    const { socket } = this.incoming;
    socket.setTimeout(UNREAD_MS);
    this.outgoing.end(body);
  }
}
