import { pino } from "pino";
import { isObject, type JsonObject } from "../../core/process/json.ts";
import type { Log } from "../../core/process/log.ts";

/** A log that keeps its lines, so that a test can check them. */
export function recordedLog(): { log: Log; lines: JsonObject[] } {
  const lines: JsonObject[] = [];
  const write = (line: string) => {
    const parsed: unknown = JSON.parse(line);
    if (isObject(parsed)) lines.push(parsed);
  };
  return { log: pino({ level: "debug", base: null }, { write }), lines };
}
