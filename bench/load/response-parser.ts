const CR = 13;
const LF = 10;
const TAIL_BYTES = 96;

/** `more`: the reply continues; `whole`: it is complete; `malformed`: it is not valid HTTP. */
export type Progress = "more" | "whole" | "malformed";

/**
 * Reads one HTTP reply at a time from a connection without pipelining. Reads the status, a body
 * with length or chunks, the number of events and the end of the body. Does nothing else, because
 * the generator shares its core with the upstream.
 */
export class ResponseParser {
  status = 0;
  bodyBytes = 0;
  /** Blank lines of the body: one per event, if the body is an event stream. */
  events = 0;
  /** The last bytes of the body. */
  tail: Buffer = EMPTY;
  /** True if the server announced that it closes the connection after this reply. */
  closes = false;

  private state: "head" | "body" | "size" | "chunk" | "chunk-end" | "trailer" = "head";
  private left = 0;
  private chunked = false;
  /** The start of a head or a line whose rest has not arrived. */
  private partial: Buffer = EMPTY;
  private lineEmpty = false;

  /** Discards the last reply. Call before each request. */
  reset(): void {
    this.status = 0;
    this.bodyBytes = 0;
    this.events = 0;
    this.tail = EMPTY;
    this.closes = false;
    this.state = "head";
    this.partial = EMPTY;
    this.lineEmpty = false;
  }

  push(chunk: Buffer): Progress {
    let bytes = this.partial.length > 0 ? Buffer.concat([this.partial, chunk]) : chunk;
    this.partial = EMPTY;
    for (;;) {
      if (this.state === "head") {
        const end = bytes.indexOf("\r\n\r\n");
        if (end === -1) return this.keep(bytes);
        if (!this.readHead(bytes.toString("latin1", 0, end))) return "malformed";
        bytes = bytes.subarray(end + 4);
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
    if (!lower.startsWith("http/1.1 ")) return false;
    this.status = Number(lower.slice(9, 12));
    this.chunked = lower.includes("\r\ntransfer-encoding: chunked");
    this.closes = lower.includes("\r\nconnection: close");
    const length = lower.indexOf("\r\ncontent-length: ");
    this.left = length === -1 ? 0 : Number.parseInt(lower.slice(length + 18), 10);
    return this.status >= 200 && (this.chunked || this.left >= 0);
  }

  private readBody(bytes: Buffer): void {
    this.bodyBytes += bytes.length;
    this.tail =
      bytes.length >= TAIL_BYTES
        ? bytes.subarray(-TAIL_BYTES)
        : Buffer.concat([this.tail, bytes]).subarray(-TAIL_BYTES);
    let at = 0;
    for (;;) {
      const lf = bytes.indexOf(LF, at);
      if (lf === -1) break;
      if (lf === at && this.lineEmpty) this.events++;
      // The line after this line feed is empty so far, unless this line feed completed an event.
      this.lineEmpty = !(lf === at && this.lineEmpty);
      at = lf + 1;
    }
    if (at < bytes.length) this.lineEmpty = false;
  }

  private keep(bytes: Buffer): Progress {
    this.partial = bytes;
    return "more";
  }
}

const EMPTY = Buffer.alloc(0);
