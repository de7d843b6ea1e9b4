import type { Wire } from "../contract/protocol.ts";
import type { Refusal } from "../contract/refusal.ts";
import type { HttpResponse } from "../listener/index.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { HttpCall } from "./http-call.ts";
import { CORKED_BYTES_MAX, endHead, endWhole, statusLine, writeSliced } from "./write.ts";

/** Bytes that chunked encoding adds to each write: its length in hexadecimal and two line ends. */
const CHUNK_FRAME_BYTES = 8;

/**
 * Writes one reply to its connection. Gathers what comes within a turn of the event loop into one
 * write, and pauses the upstream while the client reads too slowly. Writes nothing once the client
 * has left.
 *
 * Its flags are facts of the connection that no state of the call implies.
 */
export class ClientWriter {
  private readonly res: HttpResponse;
  private readonly call: HttpCall;
  /** True for HEAD, which gets the length of the reply alone. */
  private readonly headOnly: boolean;
  /** Closes the connection after a refusal, because the rest of the request is not read. */
  closesConnection = false;
  private headers: readonly string[] = [];
  private isEventStream = false;
  /** Bytes to write next. Adjacent bytes of one buffer are one piece. */
  private readonly pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  /** True once a status has left. */
  private sent = false;
  /** True once the client has read too slowly; its listener is then set. */
  private blocked = false;
  /** True if a write is due at the end of this turn. */
  private willWrite = false;
  private readonly writePiecesBound: () => void;

  constructor(res: HttpResponse, call: HttpCall, headOnly: boolean) {
    this.res = res;
    this.call = call;
    this.headOnly = headOnly;
    this.writePiecesBound = () => this.writePieces();
  }

  /** Returns true once the status and headers have left and can no longer change. */
  get headSent(): boolean {
    return this.sent;
  }

  /** Sets the headers, which are written with the first byte. */
  head(headers: readonly string[], isEventStream: boolean): void {
    this.headers = headers;
    this.isEventStream = isEventStream;
  }

  /** Writes what has been added, at the end of this turn. */
  flush(): void {
    if (this.pieces.length === 0 || this.willWrite) return;
    this.willWrite = true;
    atEndOfTurn("write", () => {
      this.willWrite = false;
      if (this.call.state !== "ended") this.write();
    });
  }

  /** Sends a whole reply, with its length. */
  endWhole(body: Uint8Array): void {
    this.res.cork(() => {
      this.writeHead(this.headers);
      if (this.headOnly) endHead(this.res, body.length);
      else endWhole(this.res, body);
    });
  }

  /** Writes what has been added and ends the stream. */
  endStream(): void {
    this.write();
    this.res.cork(() => {
      if (!this.sent) this.writeHead(this.headers);
      this.res.end();
    });
  }

  /** Ends the reply with an error in the client's protocol, even if part of the reply is already sent. */
  fail(refusal: Refusal, wire: Wire, eventsBefore: number): void {
    this.res.cork(() => this.writeFailure(refusal, wire, eventsBefore));
  }

  private writeFailure(refusal: Refusal, wire: Wire, eventsBefore: number): void {
    if (this.sent) {
      // An event stream can carry an error. Audio cannot: cut the connection.
      if (this.isEventStream) this.res.end(wire.errorEvent(refusal, eventsBefore));
      else this.res.close();
      return;
    }
    this.writeHead(["content-type", "application/json", ...refusal.headers]);
    const body = wire.errorBody(refusal, this.call.id);
    if (this.headOnly) endHead(this.res, Buffer.byteLength(body));
    else this.res.end(body, this.closesConnection);
  }

  /** Adds bytes to write. Joins them with the last piece if they follow it in the same memory. */
  add(bytes: Uint8Array): void {
    if (this.call.gone || bytes.length === 0) return;
    const before = this.pieces.length - 1;
    const last = this.pieces[before];
    if (
      last !== undefined &&
      last.buffer === bytes.buffer &&
      last.byteOffset + last.length === bytes.byteOffset
    ) {
      const length = last.length + bytes.length;
      this.pieces[before] = new Uint8Array(last.buffer, last.byteOffset, length);
    } else {
      this.pieces.push(bytes);
      this.pieceBytes += CHUNK_FRAME_BYTES;
    }
    this.pieceBytes += bytes.length;
  }

  /** Writes what has been added since the last write. */
  write(): void {
    if (this.pieces.length === 0 || this.call.gone) return;
    if (this.pieceBytes <= CORKED_BYTES_MAX) this.res.cork(this.writePiecesBound);
    else this.writeSlices();
    this.pieces.length = 0;
    this.pieceBytes = 0;
  }

  private writePieces(): void {
    if (!this.sent) this.writeHead(this.headers);
    let drained = true;
    for (const piece of this.pieces) drained = this.res.write(piece);
    if (!drained) this.block();
  }

  private writeSlices(): void {
    if (!this.sent) this.res.cork(() => this.writeHead(this.headers));
    let drained = true;
    for (const piece of this.pieces) if (!writeSliced(this.res, piece)) drained = false;
    if (!drained) this.block();
  }

  /**
   * The client reads more slowly than the upstream writes: pause the upstream until the socket has
   * room.
   */
  private block(): void {
    this.call.flow?.pause();
    if (this.blocked) return;
    this.blocked = true;
    this.res.onWritable(() => {
      this.call.flow?.resume();
      return true;
    });
  }

  private writeHead(headers: readonly string[]): void {
    this.sent = true;
    const { res, call } = this;
    res.writeStatus(statusLine(call.status));
    // One native call for all headers: each call costs as much as building this whole text.
    let value = call.id + headerLines(headers) + headerLines(call.replyHeaders);
    // SDKs of this protocol read the id under this name.
    if (call.endpoint.protocol === "messages") value += `\r\nrequest-id: ${call.id}`;
    // Without these, proxies such as nginx buffer a stream into blocks.
    if (this.isEventStream) value += "\r\ncache-control: no-cache\r\nx-accel-buffering: no";
    res.writeHeader("x-request-id", value);
  }
}

/**
 * Returns headers as lines to append to another header. Replaces line breaks in values, which would
 * start a new header.
 */
function headerLines(headers: readonly string[]): string {
  let lines = "";
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? "";
    lines += `\r\n${headers[at]}: ${LINE_BREAK.test(value) ? value.replace(LINE_BREAKS, " ") : value}`;
  }
  return lines;
}

const LINE_BREAK = /[\r\n]/;
const LINE_BREAKS = /[\r\n]+/g;
