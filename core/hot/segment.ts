import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";

/**
 * A segment is a file of lines `<crc32, 8 hex digits> <position> <payload>\n`; the checksum covers the
 * position and the payload. Positions rise by one from line to line.
 */
const CHECKSUM_BYTES = 8;
/** Where the checksummed part of a line begins. */
export const BODY_OFFSET = CHECKSUM_BYTES + 1;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const HEX_DIGITS = "0123456789abcdef";

export interface JournalRecord {
  readonly position: number;
  readonly payload: string;
}

export interface SegmentContents {
  readonly records: readonly JournalRecord[];
  /** Bytes up to the end of the last sound record. */
  readonly soundBytes: number;
  /** Bytes of the whole file: more than `soundBytes` where the last record is torn. */
  readonly fileBytes: number;
}

/** Sound records follow one that is not: a disk fault or a hand in the file, never a mere crash. */
export class DamagedSegment extends Error {
  constructor(path: string, contents: { records: readonly JournalRecord[]; soundBytes: number }) {
    const last = contents.records.at(-1)?.position ?? "none";
    super(
      `${path} is damaged at byte ${contents.soundBytes}, after record ${last}, and more follows. It holds ` +
        "calls that were served and may not be charged yet, so the gateway does not start. " +
        `Restore the file; or rename it to ${path}.damaged to start without every record in it ` +
        "(they stay there as text, one JSON array a line, to be settled by hand).",
    );
    this.name = "DamagedSegment";
  }
}

/** Writes the checksum of `line[BODY_OFFSET..end]` and its space in front; the newline goes to `end`. */
export function sealLine(line: Buffer, end: number): void {
  const checksum = crc32(line.subarray(BODY_OFFSET, end));
  for (let digit = 0; digit < CHECKSUM_BYTES; digit += 1) {
    line[digit] = HEX_DIGITS.charCodeAt((checksum >>> (28 - 4 * digit)) & 0xf);
  }
  line[CHECKSUM_BYTES] = SPACE;
  line[end] = NEWLINE;
}

/**
 * Every sound record of a segment. What follows the last sound one was torn by a crash while it was
 * written; nobody was told that it was kept. Throws DamagedSegment where a sound record follows.
 */
export function readSegment(path: string): SegmentContents {
  const bytes = readFileSync(path);
  const records: JournalRecord[] = [];
  let soundBytes = 0;
  let damaged = false;
  let offset = 0;
  while (offset < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, offset);
    const end = newline === -1 ? bytes.length : newline;
    const record = newline === -1 ? undefined : readLine(bytes, offset, end);
    const last = records.at(-1);
    if (record === undefined) {
      damaged = true;
    } else if (damaged || (last !== undefined && record.position !== last.position + 1)) {
      throw new DamagedSegment(path, { records, soundBytes });
    } else {
      records.push(record);
      soundBytes = end + 1;
    }
    offset = end + 1;
  }
  return { records, soundBytes, fileBytes: bytes.length };
}

function readLine(bytes: Buffer, start: number, end: number): JournalRecord | undefined {
  const checksum = Number.parseInt(bytes.toString("latin1", start, start + CHECKSUM_BYTES), 16);
  const bodyStart = start + BODY_OFFSET;
  if (bodyStart >= end || crc32(bytes.subarray(bodyStart, end)) !== checksum) return undefined;
  const space = bytes.indexOf(SPACE, bodyStart);
  if (space === -1 || space >= end) return undefined;
  const position = Number(bytes.toString("latin1", bodyStart, space));
  if (!Number.isSafeInteger(position) || position < 1) return undefined;
  return { position, payload: bytes.toString("utf8", space + 1, end) };
}
