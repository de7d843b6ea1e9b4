import { type Logger, pino } from "pino";

/** The part of a logger that the gateway uses: an object of fields, then a sentence. */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "isLevelEnabled">;

export interface LineLog extends Log {
  /** Writes one line of JSON that is ready made, with its line feed. */
  line(json: string): void;
  setLevel(level: string): void;
  /** Writes out at once what is gathered, for a process that may not live for another quarter of a second. */
  flush(): void;
}

const GATHERED_BYTES = 65_536;
/** No line is longer; what is beyond it is cut. */
const LINE_BYTES_MAX = 16_384;
const FLUSH_MS = 250;

/**
 * Logs as JSON lines on stdout, gathered for up to a quarter of a second. Lines are copied into one buffer at
 * once: kept as strings they are ropes of dozens of small objects, which outlive the call and were the largest
 * part of what the garbage collector had to move. Secrets have no place in any field: keys, prompts and
 * replies are never passed to it.
 */
export function createLog(level: string): LineLog {
  const gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  let bytes = 0;
  const flush = () => {
    if (bytes === 0) return;
    const text = Buffer.from(gathered.subarray(0, bytes));
    bytes = 0;
    process.stdout.write(text);
  };
  const write = (line: string) => {
    bytes += gathered.write(line, bytes, LINE_BYTES_MAX);
    if (gathered.length - bytes < LINE_BYTES_MAX) flush();
  };
  setInterval(flush, FLUSH_MS).unref();
  process.once("exit", flush);
  const timestamp = pino.stdTimeFunctions.epochTime;
  const logger = pino({ level, base: null, timestamp }, { write });
  const setLevel = (next: string) => {
    logger.level = next;
  };
  return Object.assign(logger, { line: write, setLevel, flush });
}
