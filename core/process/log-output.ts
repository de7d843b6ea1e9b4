/** Bytes that may wait for a slow reader of the log: a minute of a thousand calls a second. */
const WAITING_BYTES_MAX = 16 * 1_048_576;
const LINE_FEED = Buffer.from("\n");

/** The part of stdout that is used here. */
interface OutputStream {
  /** Bytes that wait for the reader of a pipe. */
  readonly writableLength: number;
  write(lines: Uint8Array, callback: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Writes the log to stdout, and goes on without lines that stdout does not take. Its errors would end the process
 * otherwise: on a full disk, with charges in memory that have no room there either.
 */
export class LogOutput {
  /** At least so many lines were lost because the disk of the log was full, or its reader was slow or gone. */
  lostLines = 0;
  private readonly stream: OutputStream;
  private readonly onGain: (lostLines: number) => void;
  private untold = 0;
  /** True if a full disk may have taken a part of the last line. */
  private isTorn = false;

  /** Once stdout takes lines again, `onGain` gets the number of those that were lost since its last call. */
  constructor(stream: OutputStream, onGain: (lostLines: number) => void) {
    this.stream = stream;
    this.onGain = onGain;
    stream.on("error", () => {});
  }

  /** `lines`: `count` whole lines. */
  write(lines: Uint8Array, count: number): void {
    const { stream, isTorn } = this;
    if (stream.writableLength + lines.length > WAITING_BYTES_MAX) return this.lose(count);
    this.isTorn = false;
    stream.write(isTorn ? Buffer.concat([LINE_FEED, lines]) : lines, (error) => {
      if (error) {
        this.isTorn = true;
        this.lose(count);
      } else if (this.untold > 0) {
        const { untold } = this;
        this.untold = 0;
        this.onGain(untold);
      }
    });
  }

  private lose(count: number): void {
    this.lostLines += count;
    this.untold += count;
  }
}
