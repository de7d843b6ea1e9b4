import type { ServerEvent } from "../sse/reader.ts";

/** This many in a row pass unchanged: providers send a few a second while a model thinks. */
const PASSED_IN_ROW = 100;
/** After that, one per this time passes, so that the client sees that the stream is alive. */
const PASS_EVERY_MS = 1_000;
/** Maximum in a row: an hour of 25 a second. */
const IN_ROW_MAX = 100_000;
/** Pings are shorter, and so is `data:` without data. */
const SHORT_BYTES = 64;
const LF = 10;
const COLON = 58;
const D = 100;
const BRACE = 123;

/**
 * Bounds the events of a stream that bring nothing: comments, pings, and events without data. They cost as much as
 * others, and no customer pays for them.
 */
export class EmptyEvents {
  private inRow = 0;
  private passedMs = 0;

  /** Returns `drop` for an event beyond the limits, `excess` if no other event has come for too long. */
  judge(event: ServerEvent, nowMs: number): "pass" | "drop" | "excess" {
    if (!isEmpty(event)) {
      this.inRow = 0;
      return "pass";
    }
    this.inRow += 1;
    if (this.inRow <= PASSED_IN_ROW) return "pass";
    if (this.inRow > IN_ROW_MAX) return "excess";
    if (nowMs - this.passedMs < PASS_EVERY_MS) return "drop";
    this.passedMs = nowMs;
    return "pass";
  }
}

/**
 * Splits only events into lines that are short, or have no data in their first two lines: a stream has an event a
 * token.
 */
function isEmpty(event: ServerEvent): boolean {
  const { raw } = event;
  if (raw.length > SHORT_BYTES && (startsData(raw, 0) || startsData(raw, raw.indexOf(LF) + 1))) {
    return false;
  }
  return !event.hasData || event.type === "ping";
}

/** Returns true for `data: {` at this position. */
function startsData(raw: Uint8Array, at: number): boolean {
  return raw[at] === D && raw[at + 4] === COLON && raw[at + 6] === BRACE;
}
