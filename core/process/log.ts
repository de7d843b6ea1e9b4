import { type Logger, pino } from "pino";
import { isObject, parseJson } from "./json.ts";

/** The part of a logger that the gateway uses. Each method takes an object of fields, then a message. */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "isLevelEnabled">;

export interface LineLog extends Log {
  /** Writes one finished line of JSON, including its line feed. */
  line(json: string): void;
  setLevel(level: string): void;
  /** Returns how many lines stdout did not take. */
  lostLines(): number;
  /** Writes buffered lines now, for a process that may end within the next 250 ms. */
  flush(): void;
}

const GATHERED_BYTES = 65_536;
/** Maximum length of a line. Longer lines are cut. */
const LINE_BYTES_MAX = 16_384;
const FLUSH_MS = 250;
const LINE_FEED = 10;

const LOST = "the log did not take these lines: its disk was full, or its reader was slow or gone";

/**
 * Logs JSON lines to stdout, buffered for up to 250 ms; to a terminal, lines for people. Copies each line into one buffer at once: as strings, lines
 * are ropes of dozens of small objects that outlive the call, and were most of what the garbage collector moved.
 * Never pass keys, prompts or replies in any field.
 */
export function createLog(level: string): LineLog {
  const gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  let bytes = 0;
  let lines = 0;
  const output = new LogOutput(process.stdout, (lost) => logger.warn({ lines: lost }, LOST));
  const flush = () => {
    if (bytes === 0) return;
    output.write(Buffer.from(gathered.subarray(0, bytes)), lines);
    bytes = 0;
    lines = 0;
  };
  const isTerminal = process.stdout.isTTY === true;
  const write = (json: string) => {
    const line = isTerminal ? readableLine(json) : json;
    bytes += gathered.write(line, bytes, LINE_BYTES_MAX - 1);
    if (gathered[bytes - 1] !== LINE_FEED) gathered[bytes++] = LINE_FEED;
    lines++;
    if (gathered.length - bytes < LINE_BYTES_MAX) flush();
  };
  setInterval(flush, FLUSH_MS).unref();
  process.once("exit", flush);
  const timestamp = pino.stdTimeFunctions.epochTime;
  // Gateways and their workers may write to one log.
  const base = { pid: process.pid };
  const logger = pino({ level, base, timestamp }, { write });
  const setLevel = (next: string) => {
    logger.level = next;
  };
  const lostLines = () => output.lostLines;
  return Object.assign(logger, { line: write, setLevel, flush, lostLines });
}

/** Bytes that may wait for a slow reader of the log: a minute of a thousand calls a second. */
const WAITING_BYTES_MAX = 16 * 1_048_576;
const NEWLINE = Buffer.from("\n");

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
  private untold = 0;
  /** True if a full disk may have taken a part of the last line. */
  private isTorn = false;

  /** Once stdout takes lines again, `onGain` gets the number of those that were lost since its last call. */
  constructor(
    private readonly stream: OutputStream,
    private readonly onGain: (lostLines: number) => void,
  ) {
    stream.on("error", () => {});
  }

  /** `lines`: `count` whole lines. */
  write(lines: Uint8Array, count: number): void {
    const { stream, isTorn } = this;
    if (stream.writableLength + lines.length > WAITING_BYTES_MAX) return this.lose(count);
    this.isTorn = false;
    stream.write(isTorn ? Buffer.concat([NEWLINE, lines]) : lines, (error) => {
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

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "", 40: "warn", 50: "error" };
/** Fields that no reader at a terminal needs. */
const HIDDEN = ["level", "time", "pid", "msg"];

/**
 * Returns a line of the log for a person at a terminal: local time, level, message, fields.
 *
 *     09:12:44 warn  cannot reach Redis; new calls get 503  reason="connection refused"
 *     09:12:51 call 200 claude-opus-5-5, 12.5 đ, 940 ms  019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071
 */
export function readableLine(json: string): string {
  const line = parseJson(json);
  if (!isObject(line)) return json;
  const time = new Date(Number(line["time"])).toTimeString().slice(0, 8);
  if (line["msg"] === "call") return `${time} ${callText(line)}\n`;
  const level = LEVELS[Number(line["level"])] ?? String(line["level"]);
  const fields = Object.entries(line)
    .filter(([name]) => !HIDDEN.includes(name))
    .map(([name, value]) => `${name}=${valueText(value)}`);
  return `${[time, level, line["msg"], ...fields].filter((part) => part !== "").join(" ")}\n`;
}

function callText(line: Readonly<Record<string, unknown>>): string {
  const { status, model = "", outcome, cost_vnd, latency_ms, call_id } = line;
  const ending = status === 200 && outcome !== "complete" ? ` ${outcome}` : "";
  return `call ${status}${ending} ${model}, ${cost_vnd} đ, ${latency_ms} ms  ${call_id}`;
}

/** An error as its stack, text as it is unless it has spaces or quotes, all else as JSON. */
function valueText(value: unknown): string {
  if (isObject(value) && typeof value["stack"] === "string") return value["stack"];
  if (typeof value === "string" && /^[^\s"]+$/.test(value)) return value;
  return JSON.stringify(value);
}
