import { type Logger, pino } from "pino";

/** The part of a logger that the gateway uses: an object of fields, then a sentence. */
export type Log = Pick<Logger, "debug" | "info" | "warn" | "error" | "flush" | "isLevelEnabled">;

/**
 * Logs as JSON lines on stdout, one a call, written in batches off the call path and flushed every second
 * and at exit. Secrets have no place in any field: keys, prompts and replies are never passed to it.
 */
export function createLog(level: string): Log {
  const destination = pino.destination({ dest: 1, sync: false, minLength: 8192 });
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.epochTime }, destination);
  const timer = setInterval(() => destination.flush(), 1000);
  timer.unref();
  process.once("exit", () => {
    try {
      destination.flushSync();
    } catch {
      // The destination never became ready; there is nothing to save.
    }
  });
  return log;
}
