import type { HttpResponse } from "../listener/index.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { Share } from "./budget.ts";

export function bodyTooLarge(bytesMax: number): Refusal {
  const megabytes = bytesMax / 1_048_576;
  return refuse.tooLarge(`The request body is larger than the limit of ${megabytes} MB.`);
}

/** Returns the length that a request declares; undefined if it declares none. */
export function declaredLength(headers: Readonly<Record<string, string>>): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/** Returns true if the body is chunked: its length is known only at its end. */
export function isChunked(headers: Readonly<Record<string, string>>): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/**
 * Returns the 400 for a request that a proxy in front may read differently; it could then take part of this body for
 * another client's request. Of two lengths, uWebSockets.js takes the first; a body with an unknown encoding it takes for
 * no body, and trailers for the next request.
 */
export function ambiguity(headers: Readonly<Record<string, string>>): Refusal | undefined {
  const encoding = headers["transfer-encoding"];
  const isKnown = encoding === undefined || encoding.trim().toLowerCase() === "chunked";
  if (!isKnown || headers["content-length"]?.includes(",")) return AMBIGUOUS.end;
  if (headers["trailer"] !== undefined) return AMBIGUOUS.trailers;
  return headers["host"]?.includes(",") ? AMBIGUOUS.host : undefined;
}

const AMBIGUOUS = {
  end: refuse.badRequest(
    "The end of the body is ambiguous: send one content-length, or transfer-encoding: chunked.",
  ),
  trailers: refuse.badRequest("Trailers are not read: end the body with its last chunk."),
  host: refuse.badRequest("The header host is sent twice."),
};

/**
 * This much of a body is read before its call is admitted: what the socket delivers at once. The rest of a stranger's
 * upload waits until the gateway knows whose memory budget it takes.
 */
const UNADMITTED_BYTES_MAX = 65_536;

interface Expected {
  readonly bytesMax: number;
  /** As declared; undefined for a chunked body. */
  readonly length?: number | undefined;
  /** The part of the budgets that the body takes. Default: none. */
  readonly share?: Share;
  onWhole(body: Buffer): void;
  /** The body exceeds `bytesMax`, or the budget has no room for it. Nothing more is kept. */
  onRefused(refusal: Refusal): void;
}

/**
 * A request body that is being read. Bytes beyond its limit are not kept.
 *
 * A class, not an object literal with a getter: V8 gives each such literal a hidden class of its own, in old memory,
 * which keeps the whole call alive until the next full collection.
 */
export class Reading {
  /** The reply must close the connection: the rest of the body is not read. */
  mustCut = false;
  private readonly res: HttpResponse;
  private readonly expected: Expected;
  /** Parts that have arrived, until there is memory for the whole. */
  private chunks: Buffer[] | undefined = undefined;
  /** Memory for all of a body that declares its length. What has not arrived takes none. */
  private whole: Buffer | undefined = undefined;
  private bytes = 0;
  private kept = true;
  private over = false;
  private isAdmitted: boolean;
  private isPaused = false;
  /** Reads on. */
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(res: HttpResponse, expected: Expected) {
    this.res = res;
    this.expected = expected;
    this.isAdmitted = expected.share === undefined;
  }

  /** Returns true if there is nothing left to read: the body has ended, or passed the limit. */
  get isOver(): boolean {
    return this.over;
  }

  /** Reads the rest of the body: its call is admitted. */
  admit(): void {
    this.isAdmitted = true;
    this.resume();
  }

  /**
   * Drops what was read and keeps nothing more, before the reply leaves: uWebSockets.js reads on after a reply, without a
   * limit. Still reports the end if it is read. A connection that stays paused is cut by its idle timeout of 10 s.
   */
  discard(): void {
    if (!this.kept) return;
    this.drop();
    const { length, share } = this.expected;
    share?.release();
    if (this.over) return;
    const rest = length === undefined ? "read" : share?.drop(length - this.bytes);
    if (rest !== "paused" && rest !== "cut") return this.admit();
    this.mustCut = rest === "cut";
    clearTimeout(this.timer);
    this.pause();
  }

  /** Leaves the connection alone: the reply has ended, or the client has left. */
  stop(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.expected.share?.release();
  }

  add(lent: ArrayBuffer, isLast: boolean): void {
    if (this.over) return;
    const { bytesMax, share, onRefused, onWhole } = this.expected;
    this.bytes += lent.byteLength;
    if (this.bytes > bytesMax) {
      if (!isLast) this.pause();
      this.drop();
      this.stop();
      return onRefused(bodyTooLarge(bytesMax));
    }
    this.over = isLast;
    // A socket may deliver the end after it was paused. It is read on for the next request.
    if (isLast) this.resume();
    const waitMs = share?.read(lent.byteLength, this.kept) ?? 0;
    const noRoom = this.kept ? share?.add(lent.byteLength) : undefined;
    if (noRoom) {
      this.discard();
      onRefused(noRoom);
    }
    if (!isLast) {
      if (this.kept) this.keep(lent);
      this.wait(waitMs);
    } else onWhole(this.kept ? this.wholeWith(lent) : NOTHING);
  }

  private drop(): void {
    this.kept = false;
    this.chunks = undefined;
    this.whole = undefined;
  }

  /** Copies a part: its memory is lent for the time of the call. */
  private keep(lent: ArrayBuffer): void {
    const part = Buffer.from(lent);
    const { length } = this.expected;
    if (this.whole) part.copy(this.whole, this.bytes - part.length);
    else if (length !== undefined && this.isAdmitted) {
      this.whole = Buffer.allocUnsafeSlow(length);
      let at = 0;
      for (const chunk of [...(this.chunks ?? []), part]) at += chunk.copy(this.whole, at);
      this.chunks = undefined;
    } else if (this.chunks) this.chunks.push(Buffer.from(part));
    else this.chunks = [Buffer.from(part)];
  }

  private wholeWith(last: ArrayBuffer): Buffer {
    if (!this.chunks && !this.whole) return Buffer.from(Buffer.from(last));
    this.keep(last);
    return this.whole ?? Buffer.concat(this.chunks ?? [], this.bytes);
  }

  /** Reads no more until the call is admitted, or for a time. */
  private wait(ms: number): void {
    if (this.over) return;
    if (!this.isAdmitted) {
      if (this.bytes >= UNADMITTED_BYTES_MAX) this.pause();
      return;
    }
    // The reply to a refused body does not wait for the rest, unless it is chunked.
    if (ms === 0 || (!this.kept && this.expected.length !== undefined)) return;
    this.pause();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.resume(), ms);
  }

  private pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.res.pause();
  }

  private resume(): void {
    clearTimeout(this.timer);
    if (!this.isPaused) return;
    this.isPaused = false;
    this.res.resume();
  }
}

/**
 * Reads a request body and passes it to `onWhole`. Once it exceeds the limit, calls `onRefused`
 * instead and stops reading.
 */
export function readBody(res: HttpResponse, expected: Expected): Reading {
  const reading = new Reading(res, expected);
  res.onData((lent, isLast) => reading.add(lent, isLast));
  return reading;
}

const NOTHING = Buffer.alloc(0);
