import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { messageOf } from "../../core/process/thrown.ts";
import type { GoodReply, Job } from "./job.ts";
import { ResponseParser } from "./response-parser.ts";

/** The server of a connection, and how a good reply of it ends. */
export type Server = Pick<Job, "host" | "port" | "tls"> & GoodReply;

/** Called for each reply. `failure` is undefined for a whole reply with status 200. */
export type OnReply = (connection: Connection, failure: string | undefined) => void;

/** A stream's first text, thinking or arguments of a tool, in each protocol. */
const TOKEN =
  /"(?:content|text|thinking|reasoning|reasoning_content|partial_json|arguments|delta)": ?"[^"]/;
/** An error in the form of any protocol. */
const ERROR_BODY = /^\s*\{\s*(?:"type"\s*:\s*"error"|"error"\s*:\s*["{])/;
const MEDIA_TYPE = /\r\ncontent-type: *([^;\s]+)/i;
/** More gaps of one stream are not recorded. */
const GAPS_MAX = 100_000;

/** One keep-alive connection with one call at a time. Reconnects after an error. */
export class Connection {
  readonly parser = new ResponseParser();
  /** When the call in flight was due, or was sent if it has no due time. */
  dueAtMs = 0;
  /** When the first token of the stream arrived; 0 before it has. */
  tokenAtMs = 0;
  /** Times between the events of the stream. */
  readonly gapsUs: number[] = [];
  /** True once bytes of the current reply have arrived. */
  began = false;
  private eventAtMs = 0;
  private socket: Socket | undefined = undefined;
  private busy = false;

  constructor(
    private readonly server: Server,
    private readonly onReply: OnReply,
  ) {}

  send(request: Buffer, dueAtMs: number = performance.now()): void {
    this.parser.reset();
    this.gapsUs.length = 0;
    this.busy = true;
    this.began = false;
    this.tokenAtMs = 0;
    this.eventAtMs = 0;
    this.dueAtMs = dueAtMs;
    this.socket ??= this.open();
    this.socket.write(request);
  }

  /** Ends the call in flight as failed. */
  fail(failure: string): void {
    this.done(this.socket, failure);
  }

  /** Aborts the call in flight, if any. */
  close(): void {
    this.busy = false;
    this.socket?.destroy();
    this.socket = undefined;
  }

  private open(): Socket {
    const { host = "127.0.0.1", port, tls } = this.server;
    const to = { port, host, noDelay: true };
    const socket = tls
      ? connectTls({ ...to, ...(isIP(host) === 0 && { servername: host }) })
      : connect(to);
    socket.on("data", (chunk) => this.read(chunk));
    socket.on("error", (error) => this.done(socket, problemOf(error)));
    socket.on("close", () => this.closed(socket));
    return socket;
  }

  private read(chunk: Buffer): void {
    if (!this.busy) return;
    this.began = true;
    const { socket, parser } = this;
    const before = parser.events;
    const progress = parser.push(chunk);
    if (parser.events > before) this.time(parser.events - before, chunk);
    if (progress === "malformed") this.done(socket, "the reply is malformed");
    else if (progress === "whole") this.whole(socket);
  }

  private time(events: number, chunk: Buffer): void {
    const now = performance.now();
    if (this.tokenAtMs === 0 && TOKEN.test(chunk.toString("latin1"))) this.tokenAtMs = now;
    if (this.gapsUs.length + events <= GAPS_MAX) {
      if (this.eventAtMs > 0) this.gapsUs.push(Math.round((now - this.eventAtMs) * 1_000));
      for (let more = 1; more < events; more++) this.gapsUs.push(0);
    }
    this.eventAtMs = now;
  }

  private whole(socket: Socket | undefined): void {
    const failure = this.failureOf();
    if (this.parser.closes) this.drop(socket);
    this.busy = false;
    this.onReply(this, failure);
  }

  private failureOf(): string | undefined {
    const { status, head, beginning, tail, lastEvent, errorEvent } = this.parser;
    const { endsWith, lastEvents, mediaType } = this.server;
    if (status !== 200) return `HTTP ${status}`;
    if (errorEvent !== "") return "the stream reports an error";
    if (ERROR_BODY.test(beginning.toString("latin1"))) return "HTTP 200 with an error as its body";
    const [, type = "nothing"] = MEDIA_TYPE.exec(head) ?? [];
    if (mediaType !== undefined && type.toLowerCase() !== mediaType) {
      return `the reply is ${type} instead of ${mediaType}`;
    }
    if (!tail.includes(endsWith)) return `the reply does not end with ${endsWith}`;
    const isWhole = lastEvents?.some((each) => lastEvent.includes(each)) ?? true;
    return isWhole ? undefined : `the stream does not end with ${lastEvents?.join(" or ")}`;
  }

  private closed(socket: Socket): void {
    if (socket === this.socket && this.busy && this.parser.endsWithConnection) this.whole(socket);
    else this.done(socket, "the connection was closed");
  }

  private done(socket: Socket | undefined, failure: string): void {
    if (socket !== this.socket) return;
    this.drop(socket);
    if (!this.busy) return;
    this.busy = false;
    this.onReply(this, failure);
  }

  private drop(socket: Socket | undefined): void {
    socket?.destroy();
    this.socket = undefined;
  }
}

/** Returns the code too: a host with two addresses gives an error without a message. */
function problemOf(error: NodeJS.ErrnoException): string {
  const message = messageOf(error);
  return message !== "" ? message : (error.code ?? "the connection failed");
}
