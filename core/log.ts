import { type Logger, pino } from "pino";

/** The part of a logger that the gateway uses: an object of fields, then a sentence. */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "isLevelEnabled">;

const GATHERED_CHARACTERS_MAX = 32_768;
const FLUSH_MS = 250;

/**
 * Logs as JSON lines on stdout, one a call, gathered for up to a quarter of a second. Lines are joined only
 * when they are written: pino's own destination builds one string by appending, which was the largest
 * allocation of a call (16 KB) and a third of all garbage. Secrets have no place in any field: keys,
 * prompts and replies are never passed to it.
 */
export function createLog(level: string): Log {
  let lines: string[] = [];
  let characters = 0;
  const flush = () => {
    if (lines.length === 0) return;
    const text = lines.join("");
    lines = [];
    characters = 0;
    process.stdout.write(text);
  };
  const destination = {
    write(line: string) {
      lines.push(line);
      characters += line.length;
      if (characters >= GATHERED_CHARACTERS_MAX) flush();
    },
  };
  setInterval(flush, FLUSH_MS).unref();
  process.once("exit", flush);
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.epochTime }, destination);
}
