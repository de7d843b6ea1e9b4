import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "./listener.ts";

/** A connection that sends nothing for this long, in a head, in a body or between requests, is cut. */
export const IDLE_MS = 10_000;
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
export class NodeResponse implements HttpResponse {
  private readonly incoming: IncomingMessage;
  private readonly outgoing: ServerResponse;
  private status = "200 OK";
  /** Name, value, name, value. */
  private readonly headers: string[] = [];
  private bodyBytes = 0;
  private isOver = false;
  private aborted: (() => void) | undefined = undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    const { socket } = incoming;
    socket.setTimeout(IDLE_MS);
    incoming.once("end", () => socket.setTimeout(0));
    outgoing.once("close", () => this.abort());
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

  private abort(): void {
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
