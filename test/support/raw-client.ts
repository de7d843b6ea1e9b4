import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** One HTTP response as received; a chunked body is put together. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False if the connection ended before the response did. */
  readonly whole: boolean;
}

const BLANK_LINE = "\r\n\r\n";

/** A TCP connection that sends any bytes a test wants, malformed or not. */
export class RawClient {
  /** Resolves when the connection has closed, from either side, with or without an error. */
  readonly closed: Promise<void>;
  private received = Buffer.alloc(0);
  private over = false;
  private wake: (() => void) | undefined;

  private constructor(readonly socket: Socket) {
    socket.on("data", (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.wake?.();
    });
    const ended = () => {
      this.over = true;
      this.wake?.();
    };
    // Tests check for resets; a normal close emits `end`.
    socket.on("error", ended);
    socket.on("end", ended);
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.once("close", ended);
  }

  static async open(port: number, options: { allowHalfOpen?: boolean } = {}): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true, ...options });
    const client = new RawClient(socket);
    await once(socket, "connect");
    return client;
  }

  /** Bytes received and not yet read as a response. */
  get pending(): Buffer {
    return this.received;
  }

  /** True if the other side has ended the connection. */
  get ended(): boolean {
    return this.over;
  }

  /**
   * Writes, and waits if the kernel's buffers are full; returns false if the connection has closed.
   */
  async send(bytes: string | Uint8Array): Promise<boolean> {
    if (this.over || this.socket.destroyed) return false;
    if (this.socket.write(bytes)) return true;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.socket.off("drain", done);
        this.socket.off("close", done);
        resolve();
      };
      this.socket.once("drain", done);
      this.socket.once("close", done);
    });
    return !this.over;
  }

  /** Resolves once `text` has arrived; rejects if the connection ends without it. */
  async sees(text: string): Promise<void> {
    while (!this.received.includes(text)) {
      if (this.over) throw new Error(`the connection ended before: ${text}`);
      await this.more();
    }
  }

  /** The next response; rejects if the connection ends before its head. */
  async response(): Promise<RawResponse> {
    let headEnd = this.received.indexOf(BLANK_LINE);
    while (headEnd < 0) {
      if (this.over) throw new Error(`no response, only: ${this.received.toString("latin1")}`);
      await this.more();
      headEnd = this.received.indexOf(BLANK_LINE);
    }
    const [statusLine = "", ...lines] = this.received.toString("latin1", 0, headEnd).split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    this.received = this.received.subarray(headEnd + BLANK_LINE.length);
    const status = Number(statusLine.split(" ")[1]);
    const { body, whole } =
      headers["transfer-encoding"] === "chunked"
        ? await this.chunks()
        : await this.take(status < 200 ? 0 : Number(headers["content-length"] ?? 0));
    return { status, headers, body, whole };
  }

  /** The head of a response without a body, as for HEAD. */
  async head(): Promise<string> {
    await this.sees(BLANK_LINE);
    const end = this.received.indexOf(BLANK_LINE) + BLANK_LINE.length;
    const text = this.received.toString("latin1", 0, end);
    this.received = this.received.subarray(end);
    return text;
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Resets the connection, as a crashed client would. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  private async take(bytes: number): Promise<{ body: Buffer; whole: boolean }> {
    while (this.received.length < bytes && !this.over) await this.more();
    const body = this.received.subarray(0, bytes);
    this.received = this.received.subarray(body.length);
    return { body, whole: body.length === bytes };
  }

  private async chunks(): Promise<{ body: Buffer; whole: boolean }> {
    const pieces: Buffer[] = [];
    for (;;) {
      let lineEnd = this.received.indexOf("\r\n");
      while (lineEnd < 0 && !this.over) {
        await this.more();
        lineEnd = this.received.indexOf("\r\n");
      }
      if (lineEnd < 0) return { body: Buffer.concat(pieces), whole: false };
      const size = Number.parseInt(this.received.toString("latin1", 0, lineEnd), 16);
      this.received = this.received.subarray(lineEnd + 2);
      const { body, whole } = await this.take(size + 2);
      pieces.push(body.subarray(0, Math.min(size, body.length)));
      if (!whole) return { body: Buffer.concat(pieces), whole: false };
      if (size === 0) return { body: Buffer.concat(pieces), whole: true };
    }
  }

  private async more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    this.wake = undefined;
  }
}

/** The bytes of a POST with a JSON body. */
export function rawPost(
  path: string,
  key: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body);
  const all = {
    host: "gateway",
    "x-api-key": key,
    "content-type": "application/json",
    "content-length": String(bytes.length),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes]);
}
