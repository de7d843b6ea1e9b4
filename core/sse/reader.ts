import { asBuffer } from "./bytes.ts";

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;

/** The default limit for the size of an event. */
export const EVENT_BYTES_MAX = 32 * 1024 * 1024;

/** More room than this behind a block is not kept. */
const ROOM_BYTES_MAX = 1024 * 1024;

/**
 * The meaning of an event in its stream. `usage`: reports usage, and may carry text too. `terminal`: completes the
 * stream. `error`: the upstream says that the stream failed. The last two may report usage as well.
 */
export type EventKind = "data" | "usage" | "terminal" | "error";

/**
 * One block of a server-sent event stream.
 *
 * `raw` has the received bytes, including the blank line that ends the block, so that an unchanged block is forwarded
 * byte for byte. `type` and `data` are decoded on first use: most events of a metered stream pass through without being
 * decoded.
 */
export class ServerEvent {
  private scanned = false;
  private eventType: string | undefined = undefined;
  private dataFrom = 0;
  private dataTo = 0;
  private dataText: string | undefined = undefined;

  /**
   * A plugin that creates an event sets its `kind`. `from` is where the first line starts in `raw`:
   * 3 after a byte order mark, else 0.
   */
  constructor(
    readonly raw: Uint8Array,
    /** Set once by the first reader that knows the protocol: `kindOf` of the contract. */
    public kind: EventKind | undefined = undefined,
    private readonly from = 0,
  ) {}

  /** The value of the `event:` line; undefined if there is none. */
  get type(): string | undefined {
    if (!this.scanned) this.scan();
    return this.eventType;
  }

  /** The `data:` lines, joined by line feeds; empty for a block of comments. */
  get data(): string {
    if (!this.scanned) this.scan();
    this.dataText ??= asBuffer(this.raw).toString("utf8", this.dataFrom, this.dataTo);
    return this.dataText;
  }

  /** False for a block of comments, and for an event whose data is empty. */
  get hasData(): boolean {
    if (!this.scanned) this.scan();
    return this.dataTo > this.dataFrom || (this.dataText ?? "").trim() !== "";
  }

  private scan(): void {
    this.scanned = true;
    const raw = asBuffer(this.raw);
    let dataLines = 0;
    for (let at = this.from; at < raw.length; ) {
      const lf = endOfLine(raw, at);
      const end = lf === -1 ? raw.length : lf;
      const eol = end > at && raw[end - 1] === CR ? end - 1 : end;
      if (isField(raw, at, eol, DATA)) {
        const from = valueStart(raw, at + DATA.length, eol);
        if (dataLines === 0) {
          this.dataFrom = from;
          this.dataTo = eol;
        } else {
          this.dataText ??= raw.toString("utf8", this.dataFrom, this.dataTo);
          this.dataText += `\n${raw.toString("utf8", from, eol)}`;
        }
        dataLines += 1;
      } else if (isField(raw, at, eol, EVENT)) {
        const value = raw.toString("utf8", valueStart(raw, at + EVENT.length, eol), eol);
        this.eventType = value === "" ? undefined : value;
      }
      at = end + 1;
    }
  }
}

/**
 * Splits the bytes of an event stream into blocks, with any split of the reads. Lines end with LF or CRLF. The standard
 * allows a CR alone too, which no provider sends: it is part of its line here.
 *
 * A block within one chunk is a view of that chunk, so the caller must not reuse the chunk's memory. Joined, the `raw`
 * of all events are exactly the bytes that were pushed. The bytes alone decide the split into events, never the reads.
 */
export class SseReader {
  private carry: Buffer | undefined = undefined;
  private carried = 0;
  /** The part of the current line that has come. */
  private line: "nothing" | "cr" | "text" = "nothing";
  private first = true;
  private failed = false;

  constructor(private readonly bytesMax = EVENT_BYTES_MAX) {}

  /** The memory that a block takes whose end has not come. */
  get keptBytes(): number {
    return this.carry?.length ?? 0;
  }

  /**
   * Reads one chunk and calls `onEvent` for each block that it completes. Returns false if a block exceeds the limit;
   * the reader then emits nothing more.
   */
  push(chunk: Uint8Array, onEvent: (event: ServerEvent) => void): boolean {
    if (this.failed) return false;
    const bytes = asBuffer(chunk);
    const length = bytes.length;
    let at = 0;
    let start = 0;
    for (let lf = endOfLine(bytes, at); lf !== -1; lf = endOfLine(bytes, at)) {
      const blank = this.lineWith(bytes, at, lf) !== "text";
      this.line = "nothing";
      at = lf + 1;
      if (!blank) continue;
      if (!this.emit(bytes, start, at, onEvent)) return false;
      start = at;
    }
    this.line = this.lineWith(bytes, at, length);
    // Copies the incomplete block at the end of the chunk: it must not keep the whole chunk in memory.
    return start === length || this.append(bytes, start, length);
  }

  /**
   * Ends the stream: emits a last block that has no blank line, if there is one. Some servers end a stream with `data:
   * [DONE]` and a single line feed.
   */
  end(onEvent: (event: ServerEvent) => void): void {
    if (!this.failed && this.carried > 0) this.emit(EMPTY, 0, 0, onEvent);
    this.failed = true;
  }

  /** Returns what has come of the current line with these bytes, which end no line. */
  private lineWith(bytes: Buffer, from: number, to: number): typeof this.line {
    if (from === to) return this.line;
    return this.line === "nothing" && to === from + 1 && bytes[from] === CR ? "cr" : "text";
  }

  private emit(
    bytes: Buffer,
    start: number,
    end: number,
    onEvent: (event: ServerEvent) => void,
  ): boolean {
    let raw: Buffer;
    if (this.carry === undefined) {
      raw = end - start === bytes.length ? bytes : bytes.subarray(start, end);
      if (raw.length > this.bytesMax) return this.fail();
    } else {
      if (end > start && !this.append(bytes, start, end)) return false;
      raw = this.carry.subarray(0, this.carried);
      // Doubling may have left much room behind it.
      if (this.carry.length - this.carried > ROOM_BYTES_MAX) raw = Buffer.from(raw);
      this.carry = undefined;
      this.carried = 0;
    }
    const from = this.first && MARK.equals(raw.subarray(0, 3)) ? 3 : 0;
    this.first = false;
    onEvent(new ServerEvent(raw, undefined, from));
    return true;
  }

  private append(bytes: Buffer, start: number, end: number): boolean {
    const needed = this.carried + end - start;
    if (needed > this.bytesMax) return this.fail();
    if (this.carry === undefined || needed > this.carry.length) {
      // Doubling keeps the cost of copying linear for any size of reads.
      const room = Math.min(this.bytesMax, Math.max(256, needed * 2));
      const grown = Buffer.allocUnsafe(room);
      this.carry?.copy(grown, 0, 0, this.carried);
      this.carry = grown;
    }
    bytes.copy(this.carry, this.carried, start, end);
    this.carried = needed;
    return true;
  }

  private fail(): false {
    this.failed = true;
    this.carry = undefined;
    this.carried = 0;
    return false;
  }
}

const EMPTY = Buffer.alloc(0);
/** A byte order mark. */
const MARK = Buffer.from("\ufeff");
const DATA = Buffer.from("data");
const EVENT = Buffer.from("event");

/** Returns the index of the next line feed; -1 if there is none. Most events end with an empty line: no native call finds it. */
function endOfLine(bytes: Buffer, from: number): number {
  if (from === bytes.length) return -1;
  return bytes[from] === LF ? from : bytes.indexOf(LF, from);
}

/** Returns true if the line from `at` to `eol` is the field `name`, followed by a colon or by nothing. */
function isField(raw: Buffer, at: number, eol: number, name: Buffer): boolean {
  const end = at + name.length;
  if (end > eol || (end < eol && raw[end] !== COLON)) return false;
  for (let i = 0; i < name.length; i += 1) {
    if (raw[at + i] !== name[i]) return false;
  }
  return true;
}

function valueStart(raw: Buffer, colon: number, eol: number): number {
  const from = colon < eol ? colon + 1 : eol;
  return from < eol && raw[from] === SPACE ? from + 1 : from;
}
