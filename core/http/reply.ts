import type { HttpResponse } from "uWebSockets.js";
import { COMPLETE, type Outcome } from "../contract/call.ts";
import type { Sink } from "../contract/plugin.ts";
import { kindOf, type Wire } from "../contract/protocol.ts";
import { type Refusal, refuse } from "../contract/refusal.ts";
import type { PlainResponse } from "../contract/routes/router.ts";
import type { Log } from "../process/log.ts";
import { atEndOfTurn } from "../process/turn.ts";
import type { ServerEvent } from "../sse/reader.ts";
import { wires } from "../wire/index.ts";
import type { HttpCall } from "./http-call.ts";
import type { OnOver, Pipeline } from "./pipeline.ts";
import { CORKED_BYTES_MAX, endHead, endWhole, statusLine, writeSliced } from "./write.ts";

/** A client that left before any status was sent; nginx's number for it, seen in logs only. */
const STATUS_CLIENT_GONE = 499;

/** What HTTP adds to each write: its length in hexadecimal and two line ends. */
const CHUNK_FRAME_BYTES = 8;

/**
 * The client's end of a call.
 *
 * A reply that is not streamed is kept whole until the call is settled, so that its headers can carry the
 * cost. A stream passes as it comes, all but its terminal event; audio passes all but its last chunk. What
 * is kept back leaves when every `close` has run: no client holds a whole reply that is not charged for.
 */
export class Reply implements Sink {
  private readonly res: HttpResponse;
  private readonly call: HttpCall;
  private readonly pipeline: Pipeline;
  private readonly log: Log;
  private readonly wire: Wire;
  private readonly wholeBytesMax: number;
  private readonly onOver: OnOver;

  private shape: "none" | "whole" | "events" | "bytes" = "none";
  private headers: readonly string[] = [];
  private headSent = false;
  /** HEAD asks for the length of the reply alone. */
  headOnly = false;
  /** Bytes to write next; neighbours of one buffer are kept as one piece. */
  private readonly pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  /** Bytes that wait for the settlement. */
  private readonly held: Uint8Array[] = [];
  private wholeBytes = 0;
  private ended = false;
  private blocked = false;
  private willWrite = false;
  private readonly writePiecesBound: () => void;

  constructor(
    res: HttpResponse,
    call: HttpCall,
    pipeline: Pipeline,
    log: Log,
    wholeBytesMax: number,
    onOver: OnOver,
  ) {
    this.res = res;
    this.call = call;
    this.pipeline = pipeline;
    this.log = log;
    this.wire = wires[call.endpoint.protocol];
    this.wholeBytesMax = wholeBytesMax;
    this.onOver = onOver;
    this.writePiecesBound = () => this.writePieces();
  }

  head(status: number, headers: readonly string[]): void {
    this.call.status = status;
    this.headers = headers;
    const type = contentType(headers);
    if (status !== 200 || type.startsWith("application/json") || type === "") this.shape = "whole";
    else this.shape = type.startsWith("text/event-stream") ? "events" : "bytes";
  }

  event(event: ServerEvent): void {
    if (this.held.length > 0 || kindOf(event, this.wire) === "terminal") this.held.push(event.raw);
    else this.add(event.raw);
  }

  data(bytes: Uint8Array): void {
    if (this.shape === "whole") {
      this.wholeBytes += bytes.length;
      if (this.wholeBytes <= this.wholeBytesMax) this.held.push(bytes);
      else this.call.flow?.cut(tooLarge(this.wholeBytesMax));
    } else {
      const last = this.held.pop();
      if (last) this.add(last);
      this.held.push(bytes);
    }
  }

  /** Writes at the end of this turn what has come by then. Called once per chunk from the upstream. */
  flush(): void {
    if (this.pieces.length === 0 || this.willWrite) return;
    this.willWrite = true;
    atEndOfTurn("write", () => {
      this.willWrite = false;
      this.write();
    });
  }

  end(outcome: Outcome): void {
    if (this.call.outcome !== undefined) return;
    this.call.outcome = outcome.kind;
    this.write();
    if (this.call.gone && this.call.status === 0) this.call.status = STATUS_CLIENT_GONE;
    // The status is part of the usage record, so it must be right before `close` runs.
    const failure = failureOf(outcome);
    if (failure && !this.headSent) this.call.status = failure.status;
    this.settle(outcome);
  }

  /** Answers a route that needs a key but no upstream; its body is whole. */
  answer(response: PlainResponse): void {
    if (this.call.outcome !== undefined) return;
    this.call.status = response.status;
    this.shape = "whole";
    this.headers = response.headers ?? [];
    const { body } = response;
    if (typeof body === "string") this.held.push(Buffer.from(body));
    else if (body instanceof Uint8Array) this.held.push(body);
    this.end(COMPLETE);
  }

  /** Answers a refusal of the gateway's own, after the plugins it has passed have been closed. */
  refuse(refusal: Refusal): void {
    if (this.call.outcome !== undefined) return;
    this.call.outcome = "refused";
    this.call.status = refusal.status;
    this.settle({ kind: "broken", refusal, truncated: false, told: false });
  }

  private settle(outcome: Outcome): void {
    try {
      const pending = this.pipeline.close(this.call);
      if (!pending) return this.finish(outcome);
      pending.then(
        () => this.finish(outcome),
        (error: unknown) => this.unsettled(error),
      );
    } catch (error) {
      this.unsettled(error);
    }
  }

  /** The charge could not be made durable: what is kept back must not leave. */
  private unsettled(error: unknown): void {
    this.log.error({ err: error, call_id: this.call.id }, "a call could not be settled");
    const refusal = refuse.unavailable("The call could not be settled, so its reply was withheld.");
    if (!this.headSent) this.call.status = refusal.status;
    this.finish({ kind: "broken", refusal, truncated: false, told: false });
  }

  private finish(outcome: Outcome): void {
    if (!this.call.gone) {
      const failure = failureOf(outcome);
      if (!failure) this.writeHeld();
      else this.res.cork(() => this.writeFailure(failure));
    }
    this.ended = true;
    this.onOver(this.call, this.pipeline);
  }

  private writeHeld(): void {
    if (this.shape === "whole") {
      const body = joined(this.held);
      this.res.cork(() => {
        this.writeHead(this.headers);
        if (this.headOnly) endHead(this.res, body.length);
        else endWhole(this.res, body);
      });
      return;
    }
    for (const bytes of this.held) this.add(bytes);
    this.write();
    this.res.cork(() => {
      if (!this.headSent) this.writeHead(this.headers);
      this.res.end();
    });
  }

  private writeFailure(refusal: Refusal): void {
    if (this.headSent) {
      // A stream carries its error inside; half a file of audio can only be cut off.
      if (this.shape === "events") this.res.end(this.wire.errorEvent(refusal));
      else this.res.close();
      return;
    }
    this.writeHead(["content-type", "application/json", ...refusal.headers]);
    const body = this.wire.errorBody(refusal, this.call.id);
    if (this.headOnly) endHead(this.res, Buffer.byteLength(body));
    else this.res.end(body);
  }

  /** A chunk that continues the last piece in the same memory becomes one with it. */
  private add(bytes: Uint8Array): void {
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
  private write(): void {
    if (this.pieces.length === 0 || this.ended || this.call.gone) return;
    if (this.pieceBytes <= CORKED_BYTES_MAX) this.res.cork(this.writePiecesBound);
    else this.writeSlices();
    this.pieces.length = 0;
    this.pieceBytes = 0;
  }

  private writePieces(): void {
    if (!this.headSent) this.writeHead(this.headers);
    let drained = true;
    for (const piece of this.pieces) drained = this.res.write(piece);
    if (!drained) this.block();
  }

  private writeSlices(): void {
    if (!this.headSent) this.res.cork(() => this.writeHead(this.headers));
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
    this.headSent = true;
    const { res, call } = this;
    res.writeStatus(statusLine(call.status));
    // One native call for all headers, since each costs as much as building the text of all of them.
    let value = call.id + headerLines(headers) + headerLines(call.replyHeaders);
    // Proxies such as nginx would otherwise gather a stream into blocks.
    if (this.shape === "events") value += "\r\ncache-control: no-cache\r\nx-accel-buffering: no";
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

const NOTHING = new Uint8Array(0);

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);

/** The error a client is owed, undefined where the reply stands as it is. */
function failureOf(outcome: Outcome): Refusal | undefined {
  if (outcome.kind === "exhausted") return outcome.refusal;
  return outcome.kind === "broken" && !outcome.told ? outcome.refusal : undefined;
}

function tooLarge(bytesMax: number): Outcome {
  const megabytes = Math.floor(bytesMax / 1_048_576);
  const message = `The upstream's reply is larger than the ${megabytes} MB that this gateway keeps.`;
  const refusal = refuse.upstreamFailed(message);
  return { kind: "broken", refusal, truncated: false, told: false };
}

function contentType(headers: readonly string[]): string {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === "content-type") return headers[at + 1] ?? "";
  }
  return "";
}
