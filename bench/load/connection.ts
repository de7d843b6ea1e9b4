import { connect, type Socket } from "node:net";
import { ResponseParser } from "./response-parser.ts";

/** Called for each reply. `failure` is undefined for a whole reply with status 200. */
export type OnReply = (
  connection: Connection,
  reply: ResponseParser,
  failure: string | undefined,
) => void;

/** One keep-alive connection with one call at a time. Reconnects after an error. */
export class Connection {
  readonly parser = new ResponseParser();
  startedAtMs = 0;
  /** True once bytes of the current reply have arrived. */
  began = false;
  private readonly port: number;
  private readonly endsWith: string;
  private readonly onReply: OnReply;
  private socket: Socket | undefined = undefined;
  private busy = false;

  constructor(port: number, endsWith: string, onReply: OnReply) {
    this.port = port;
    this.endsWith = endsWith;
    this.onReply = onReply;
  }

  send(request: Buffer): void {
    this.parser.reset();
    this.busy = true;
    this.began = false;
    this.startedAtMs = performance.now();
    this.socket ??= this.open();
    this.socket.write(request);
  }

  /** Aborts the call in flight, if any. */
  close(): void {
    this.busy = false;
    this.socket?.destroy();
    this.socket = undefined;
  }

  private open(): Socket {
    const socket = connect({ port: this.port, host: "127.0.0.1", noDelay: true });
    socket.on("data", (chunk) => this.read(chunk));
    socket.on("error", (error) => this.done(socket, error.message));
    socket.on("close", () => this.done(socket, "the connection was closed"));
    return socket;
  }

  private read(chunk: Buffer): void {
    this.began = true;
    const progress = this.parser.push(chunk);
    if (progress === "more" || !this.busy) return;
    const { socket, parser } = this;
    if (progress === "malformed") return this.done(socket, "the reply is malformed");
    const failure =
      parser.status !== 200
        ? `HTTP ${parser.status}`
        : parser.tail.includes(this.endsWith)
          ? undefined
          : "the reply does not end with the expected text";
    if (parser.closes) this.drop(socket);
    this.busy = false;
    this.onReply(this, parser, failure);
  }

  private done(socket: Socket | undefined, failure: string): void {
    if (socket !== this.socket) return;
    this.drop(socket);
    if (!this.busy) return;
    this.busy = false;
    this.onReply(this, this.parser, failure);
  }

  private drop(socket: Socket | undefined): void {
    socket?.destroy();
    this.socket = undefined;
  }
}
