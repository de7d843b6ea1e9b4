import type { HttpResponse } from "uWebSockets.js";
import type { Wire } from "../contract/protocol.ts";
import type { Refusal } from "../contract/refusal.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { HttpCall } from "./http-call.ts";
import { CORKED_BYTES_MAX, endHead, endWhole, statusLine, writeSliced } from "./write.ts";

/** What HTTP adds to each write: its length in hexadecimal and two line ends. */
const CHUNK_FRAME_BYTES = 8;

/**
 * Writes one reply to its connection: gathers what comes within a turn, and pauses the upstream while the client
 * is behind. Writes nothing once the client has left.
 *
 * Its flags are facts of the connection that no state of the call implies: whether a status has left, whether the
 * client has ever been behind, whether a write is due at the end of this turn, whether only a head is wanted.
 */
export class ClientWriter {
  private readonly res: HttpResponse;
  private readonly call: HttpCall;
  /** HEAD asks for the length of the reply alone. */
  private readonly headOnly: boolean;
  private headers: readonly string[] = [];
  private isEventStream = false;
  /** Bytes to write next; neighbours of one buffer are kept as one piece. */
  private readonly pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  private sent = false;
  private blocked = false;
  private willWrite = false;
  private readonly writePiecesBound: () => void;

  constructor(res: HttpResponse, call: HttpCall, headOnly: boolean) {
    this.res = res;
    this.call = call;
    this.headOnly = headOnly;
    this.writePiecesBound = () => this.writePieces();
  }

  /** The status and headers have left: what comes now cannot change them. */
  get headSent(): boolean {
    return this.sent;
  }

  /** What the reply begins with, when its first byte is written. */
  head(headers: readonly string[], isEventStream: boolean): void {
    this.headers = headers;
    this.isEventStream = isEventStream;
  }

  /** Writes at the end of this turn what has been added by then. */
  flush(): void {
    if (this.pieces.length === 0 || this.willWrite) return;
    this.willWrite = true;
    atEndOfTurn("write", () => {
      this.willWrite = false;
      if (this.call.state !== "ended") this.write();
    });
  }

  /** Ends a reply that is whole, with its length. */
  endWhole(body: Uint8Array): void {
    this.res.cork(() => {
      this.writeHead(this.headers);
      if (this.headOnly) endHead(this.res, body.length);
      else endWhole(this.res, body);
    });
  }

  /** Ends a stream after what has been added. */
  endStream(): void {
    this.write();
    this.res.cork(() => {
      if (!this.sent) this.writeHead(this.headers);
      this.res.end();
    });
  }

  /** Ends the reply with an error in the client's protocol, however much of it has left. */
  fail(refusal: Refusal, wire: Wire): void {
    this.res.cork(() => this.writeFailure(refusal, wire));
  }

  private writeFailure(refusal: Refusal, wire: Wire): void {
    if (this.sent) {
      // A stream carries its error inside; half a file of audio can only be cut off.
      if (this.isEventStream) this.res.end(wire.errorEvent(refusal));
      else this.res.close();
      return;
    }
    this.writeHead(["content-type", "application/json", ...refusal.headers]);
    const body = wire.errorBody(refusal, this.call.id);
    if (this.headOnly) endHead(this.res, Buffer.byteLength(body));
    else this.res.end(body);
  }

  /** A chunk that continues the last piece in the same memory becomes one with it. */
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

  /** Writes what has come since the last time, in one go. */
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

  /** The client reads more slowly than the upstream writes: the upstream waits. */
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
    // One native call for all headers, since each costs as much as building the text of all of them.
    let value = call.id + headerLines(headers) + headerLines(call.replyHeaders);
    // Proxies such as nginx would otherwise gather a stream into blocks.
    if (this.isEventStream) value += "\r\ncache-control: no-cache\r\nx-accel-buffering: no";
    res.writeHeader("x-request-id", value);
  }
}

/** Headers as lines that follow another header. A line break in one would begin a header of its own. */
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
