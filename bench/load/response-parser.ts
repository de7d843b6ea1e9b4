const CR = 13;
const LF = 10;
const TAIL_BYTES = 96;
const HEAD_BYTES_MAX = 65_536;
/** Bytes at the beginning of a body that are kept. */
const BEGINNING_BYTES = 500;
/** Bytes of an event that are kept: they name its type. */
const EVENT_BYTES = 64;

/** `more`: the reply continues; `whole`: it is complete; `malformed`: it is not valid HTTP. */
export type Progress = "more" | "whole" | "malformed";

/**
 * Reads one HTTP reply at a time from a connection without pipelining. Reads the status, a body, the
 * number of events and the end of the body. Does nothing else, because the generator shares its core
 * with the upstream.
 */
export class ResponseParser {
  status = 0;
  bodyBytes = 0;
  /** The status line and the headers, as they came. */
  head = "";
  /** Events of the body, if it is an event stream. Comments are none. */
  events = 0;
  /** The first bytes of the last event. */
  lastEvent = "";
  /** The first bytes of the first event that says that the stream failed. */
  errorEvent = "";
  /** The last bytes of the body. */
  tail: Buffer = EMPTY;
  /** The first bytes of the body. */
  beginning: Buffer = EMPTY;
  /** True if the server announced that it closes the connection after this reply. */
  closes = false;

  private state: "head" | "body" | "size" | "chunk" | "chunk-end" | "trailer" = "head";
  private left = 0;
  private chunked = false;
  /** True if the body ends with the connection. */
  private endless = false;
  /** The start of a head or a line whose rest has not arrived. */
  private partial: Buffer = EMPTY;
  private lineEmpty = true;
  /** The first bytes of the event that has begun. */
  private event = "";

  /** Discards the last reply. Call before each request. */
  reset(): void {
    this.status = 0;
    this.bodyBytes = 0;
    this.head = "";
    this.events = 0;
    this.lastEvent = "";
    this.errorEvent = "";
    this.tail = EMPTY;
    this.beginning = EMPTY;
    this.closes = false;
    this.state = "head";
    this.partial = EMPTY;
    this.lineEmpty = true;
    this.event = "";
  }

  /** Returns true if the body is complete now that the server has closed the connection. */
  get endsWithConnection(): boolean {
    return this.endless && this.state === "body";
  }

  push(chunk: Buffer): Progress {
    let bytes = this.partial.length > 0 ? Buffer.concat([this.partial, chunk]) : chunk;
    this.partial = EMPTY;
    for (;;) {
      if (this.state === "head") {
        const end = bytes.indexOf("\r\n\r\n");
        if (end === -1) return bytes.length > HEAD_BYTES_MAX ? "malformed" : this.keep(bytes);
        if (!this.readHead(bytes.toString("latin1", 0, end))) return "malformed";
        bytes = bytes.subarray(end + 4);
        // Such as 100 Continue: the reply itself follows.
        if (this.status < 200) continue;
        this.state = this.chunked ? "size" : "body";
      } else if (this.state === "body" || this.state === "chunk") {
        const taken = Math.min(this.left, bytes.length);
        if (taken > 0) this.readBody(bytes.subarray(0, taken));
        bytes = bytes.subarray(taken);
        this.left -= taken;
        if (this.left > 0) return "more";
        if (this.state === "body") return bytes.length === 0 ? "whole" : "malformed";
        this.state = "chunk-end";
      } else {
        const end = bytes.indexOf(LF);
        if (end === -1) return this.keep(bytes);
        if (bytes[end - 1] !== CR) return "malformed";
        const line = bytes.toString("latin1", 0, end - 1);
        bytes = bytes.subarray(end + 1);
        const progress = this.readLine(line, bytes.length);
        if (progress !== "more") return progress;
      }
    }
  }

  private readLine(line: string, behind: number): Progress {
    if (this.state === "size") {
      this.left = Number.parseInt(line, 16);
      if (!(this.left >= 0)) return "malformed";
      this.state = this.left === 0 ? "trailer" : "chunk";
    } else if (line !== "") return "malformed";
    else if (this.state === "trailer") return behind === 0 ? "whole" : "malformed";
    else this.state = "size";
    return "more";
  }

  private readHead(head: string): boolean {
    const lower = head.toLowerCase();
    if (!lower.startsWith("http/1.1 ") && !lower.startsWith("http/1.0 ")) return false;
    this.head = head;
    this.status = Number(lower.slice(9, 12));
    this.chunked = /\r\ntransfer-encoding:[^\r]*chunked/.test(lower);
    const length = lower.indexOf("\r\ncontent-length:");
    const isEmpty = this.status < 200 || this.status === 204 || this.status === 304;
    this.endless = !isEmpty && !this.chunked && length === -1;
    this.closes = this.endless || lower.includes("\r\nconnection: close");
    if (isEmpty) this.left = 0;
    else if (this.endless) this.left = Number.POSITIVE_INFINITY;
    else this.left = length === -1 ? 0 : Number.parseInt(lower.slice(length + 17), 10);
    return this.status >= 100 && (this.chunked || this.left >= 0);
  }

  private readBody(bytes: Buffer): void {
    this.bodyBytes += bytes.length;
    if (this.beginning.length < BEGINNING_BYTES) {
      const wanted = bytes.subarray(0, BEGINNING_BYTES - this.beginning.length);
      this.beginning = this.beginning.length > 0 ? Buffer.concat([this.beginning, wanted]) : wanted;
    }
    this.tail =
      bytes.length >= TAIL_BYTES
        ? bytes.subarray(-TAIL_BYTES)
        : Buffer.concat([this.tail, bytes]).subarray(-TAIL_BYTES);
    // The place at which the event begins, or the rest of one that began in earlier bytes.
    let begin = 0;
    let at = 0;
    for (;;) {
      const lf = bytes.indexOf(LF, at);
      if (lf === -1) break;
      const isBlank = this.lineEmpty && (lf === at || (lf === at + 1 && bytes[at] === CR));
      if (isBlank) {
        this.endEvent(bytes, begin, at);
        begin = lf + 1;
      }
      this.lineEmpty = true;
      at = lf + 1;
    }
    // A line feed may follow in the next bytes, so a carriage return does not fill its line.
    if (at < bytes.length && !(at === bytes.length - 1 && bytes[at] === CR)) this.lineEmpty = false;
    this.beginEvent(bytes, begin, bytes.length);
  }

  private beginEvent(bytes: Buffer, begin: number, end: number): void {
    const wanted = Math.min(end, begin + EVENT_BYTES - this.event.length);
    if (wanted > begin) this.event += bytes.toString("latin1", begin, wanted);
  }

  private endEvent(bytes: Buffer, begin: number, end: number): void {
    this.beginEvent(bytes, begin, end);
    const { event } = this;
    this.event = "";
    if (event === "" || event.startsWith(":")) return;
    this.events++;
    this.lastEvent = event;
    if (this.errorEvent === "" && /^(event: ?error|data: ?\{"error")/.test(event)) {
      this.errorEvent = event;
    }
  }

  private keep(bytes: Buffer): Progress {
    this.partial = bytes;
    return "more";
  }
}

const EMPTY = Buffer.alloc(0);
