import type { HttpResponse } from "../listener/index.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { ClientWire } from "../wire/wire.ts";
import type { HttpCall } from "./http-call.ts";
import type { KeptReply, UnreadReplies } from "./unread-replies.ts";
import { CORKED_BYTES_MAX, endHead, endWhole, statusLine, writeSlice } from "./write.ts";

/** Bytes that chunked encoding adds to each write: its length in hexadecimal and two line ends. */
const CHUNK_FRAME_BYTES = 8;
/** Memory that a stream takes beside its gathered bytes while it waits: the buffers of its two sockets. */
const PAUSED_STREAM_BYTES = 128 * 1024;
/** A whole reply, or an event, of at most this size does not count until it waits: most are smaller. */
const UNCOUNTED_BYTES = 64 * 1024;
const NOTHING = (): void => {};

/**
 * Writes one reply to its connection. Gathers what comes within a turn of the event loop into one write, and pauses the
 * upstream while the client reads too slowly. Writes nothing once the client has left.
 *
 * Its flags are facts of the connection that no state of the call implies.
 */
export class ClientWriter implements KeptReply {
  keptBytes = 0;
  /** Closes the connection after a refusal, because the rest of the request is not read. */
  closesConnection = false;
  private headers: readonly string[] = [];
  private isEventStream = false;
  /** Bytes to write next. Adjacent bytes of one buffer are one piece. */
  private readonly pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  /** True once the status and headers have left and can no longer change. Set here alone. */
  headSent = false;
  /** True once the client has read too slowly; its listener is then set. */
  private listens = false;
  /**
   * True while the client reads too slowly. Its upstream is paused, and what still comes is gathered. Set here alone.
   */
  isBlocked = false;
  /** True if the stream ends once the client has caught up. */
  private ends = false;
  /** True if a write is due at the end of this turn. */
  private willWrite = false;
  private readonly writeAllBound: () => void;
  private readonly writeDue: () => void;
  /** Called once the client has read what was written. */
  private onCaughtUp: () => void = NOTHING;

  constructor(
    private readonly res: HttpResponse,
    private readonly call: HttpCall,
    private readonly unread: UnreadReplies,
    /** True for HEAD, which gets the length of the reply alone. */
    private readonly headOnly: boolean,
  ) {
    this.writeAllBound = () => this.writeAll();
    this.writeDue = () => {
      this.willWrite = false;
      if (this.call.state !== "ended") this.write();
    };
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
    atEndOfTurn("write", this.writeDue);
  }

  get accountId(): string {
    return this.call.key?.accountId ?? "";
  }

  /** Counts the bytes of a whole reply, or of an event, that arrives. Returns false if there is no room for it. */
  gather(bytes: number): boolean {
    // `wait` counts a reply that waits.
    if (this.isBlocked) return true;
    if (bytes > UNCOUNTED_BYTES) return this.unread.gather(this, bytes);
    this.unread.release(this);
    return true;
  }

  endWhole(body: Uint8Array): void {
    let isDone = true;
    this.res.cork(() => {
      this.writeHead(this.headers);
      if (this.headOnly) endHead(this.res, body.length);
      else isDone = endWhole(this.res, body, (isLast) => this.wholeRead(body.length, isLast));
    });
    if (isDone) this.unread.release(this);
    else this.unread.wait(this, body.length);
  }

  private wholeRead(bytes: number, isLast: boolean): void {
    if (isLast) this.unread.release(this);
    else this.unread.read(this, bytes);
  }

  /** Writes what has been added and ends the stream, once the client has read as much. */
  endStream(): void {
    this.write();
    this.ends = true;
    if (this.isBlocked) return;
    this.unread.release(this);
    if (!this.call.gone) this.end();
  }

  private end(): void {
    this.res.cork(() => {
      if (!this.headSent) this.writeHead(this.headers);
      this.res.end();
    });
  }

  drop(): void {
    this.unread.release(this);
    this.pieces.length = 0;
    this.pieceBytes = 0;
    if (!this.isBlocked) return;
    this.isBlocked = false;
    this.goOn();
  }

  /** Resolves once the client has read what was written, or has left. */
  caughtUp(): Promise<void> {
    if (!this.isBlocked) return Promise.resolve();
    return new Promise((resolve) => {
      this.onCaughtUp = resolve;
    });
  }

  private goOn(): void {
    this.call.flow?.clientWaits(false);
    this.onCaughtUp();
  }

  /** Cuts a connection whose client does not read, as if the client had left. */
  cut(): void {
    this.res.close();
  }

  /** Ends the reply with an error in the client's protocol, even if part of the reply is already sent. */
  fail(refusal: Refusal, wire: ClientWire, events: number): void {
    if (this.headSent && this.isEventStream) {
      const { id, at, body } = this.call;
      const stream = { id, at, model: String(body.read("model") ?? ""), events };
      this.add(Buffer.from(wire.errorEvent(refusal, stream)));
      return this.endStream();
    }
    this.unread.release(this);
    // An event stream can carry an error. Audio cannot: cut the connection.
    if (this.headSent) this.res.close();
    else this.res.cork(() => this.writeFailure(refusal, wire));
  }

  private writeFailure(refusal: Refusal, wire: ClientWire): void {
    this.writeHead(["content-type", "application/json", ...refusal.headers]);
    const body = wire.errorBody(refusal, this.call.id);
    if (this.headOnly) endHead(this.res, Buffer.byteLength(body));
    else this.res.end(body, this.closesConnection);
  }

  /** Adds bytes to write. Joins them with the last piece if they follow it in the same memory. */
  add(bytes: Uint8Array): void {
    if (this.call.gone || this.headOnly || bytes.length === 0) return;
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

  /** Writes what has been added since the last write, as far as the client reads. */
  write(): void {
    if (this.pieces.length === 0 || this.call.gone) return;
    if (!this.isBlocked) this.writePieces();
    if (this.isBlocked) this.unread.wait(this, this.pieceBytes + PAUSED_STREAM_BYTES);
  }

  private writePieces(): void {
    if (this.pieceBytes > CORKED_BYTES_MAX) this.writeSlices();
    else {
      this.res.cork(this.writeAllBound);
      this.pieces.length = 0;
      this.pieceBytes = 0;
    }
  }

  private writeAll(): void {
    if (!this.headSent) this.writeHead(this.headers);
    let drained = true;
    for (const piece of this.pieces) drained = this.res.write(piece);
    if (!drained) this.block();
  }

  private writeSlices(): void {
    if (!this.headSent) this.res.cork(() => this.writeHead(this.headers));
    const { pieces } = this;
    let drained = true;
    let done = 0;
    for (const piece of pieces) {
      let at = 0;
      for (; drained && at < piece.length; at += CORKED_BYTES_MAX) {
        drained = writeSlice(this.res, piece, at);
      }
      this.pieceBytes -= Math.min(at, piece.length);
      if (at < piece.length) pieces[done] = piece.subarray(at);
      else {
        this.pieceBytes -= CHUNK_FRAME_BYTES;
        done++;
      }
      if (!drained) break;
    }
    pieces.splice(0, done);
    if (!drained) this.block();
  }

  /** The client reads more slowly than the upstream writes: pause the upstream until it has caught up. */
  private block(): void {
    this.isBlocked = true;
    this.call.flow?.clientWaits(true);
    if (this.listens) return;
    this.listens = true;
    this.res.onWritable(() => {
      this.catchUp();
      return true;
    });
  }

  /** The socket has room: writes what waits, and lets the upstream go on once nothing does. */
  private catchUp(): void {
    this.isBlocked = false;
    // uWebSockets.js sends what it has buffered only beside a write, or at the end of a cork.
    if (this.pieces.length === 0) this.res.cork(NOTHING);
    else this.writePieces();
    if (this.isBlocked) return this.unread.read(this, this.pieceBytes + PAUSED_STREAM_BYTES);
    this.unread.release(this);
    if (this.ends) this.end();
    else this.goOn();
  }

  private writeHead(headers: readonly string[]): void {
    this.headSent = true;
    const { res, call } = this;
    res.writeStatus(statusLine(call.status));
    // One native call for all headers: each call costs as much as building this whole text.
    let value = call.id + NO_SNIFFING + headerLines(headers) + headerLines(call.replyHeaders);
    // SDKs of this protocol read the id under this name.
    if (call.endpoint.protocol === "messages") value += `\r\nrequest-id: ${call.id}`;
    // Without these, proxies such as nginx buffer a stream into blocks.
    if (this.isEventStream) value += "\r\ncache-control: no-cache\r\nx-accel-buffering: no";
    res.writeHeader("x-request-id", value);
  }
}

/** A browser must not read a provider's bytes as a page, whatever they look like. */
const NO_SNIFFING = "\r\nx-content-type-options: nosniff";

/**
 * Returns headers as lines to append to another header. Replaces line breaks in values, which would start a new header.
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
