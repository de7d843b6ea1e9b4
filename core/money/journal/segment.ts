import { crc32 } from "node:zlib";
import type { Disk } from "../../process/disk.ts";

/**
 * A segment is a file of lines `<crc32, 8 hex digits> <position> <payload>\n`; the checksum covers the
 * position and the payload. Positions rise by one from line to line.
 */
const CHECKSUM_BYTES = 8;
/** Offset of the checksummed part of a line. */
const BODY_OFFSET = CHECKSUM_BYTES + 1;
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
  /** Size of the whole file; larger than `soundBytes` if the last record is torn, or another one is damaged. */
  readonly fileBytes: number;
  /** True if a whole line is not sound. */
  readonly isDamaged: boolean;
}

/** A record differs from what was written: a disk fault, or an edited file. A crash alone never causes this. */
export class DamagedSegment extends Error {
  constructor(path: string, contents: { records: readonly JournalRecord[]; soundBytes: number }) {
    const last = contents.records.at(-1)?.position ?? "none";
    super(
      `${path} is damaged at byte ${contents.soundBytes}, after record ${last}. It holds ` +
        "calls that were served and perhaps not charged, so the gateway does not start. " +
        `Restore the file; or rename it to ${path}.damaged to start without every record in it ` +
        "(they stay there as text, one JSON object a line, to be committed by hand).",
    );
    this.name = "DamagedSegment";
  }
}

/** Maximum bytes of a line beside its payload: checksum, position, two spaces, newline. */
export const LINE_FRAME_BYTES = 32;

/** Writes a line to `bytes` at `start`, which must have room for it. Returns the offset after its end. */
export function writeLine(bytes: Buffer, start: number, position: number, payload: string): number {
  const body = start + BODY_OFFSET;
  const payloadStart = body + bytes.write(`${position} `, body, "latin1");
  // The payload is written on its own: V8 then flattens this very string, which the outbox keeps.
  const end = payloadStart + bytes.write(payload, payloadStart, "utf8");
  const checksum = crc32(bytes.subarray(body, end));
  for (let digit = 0; digit < CHECKSUM_BYTES; digit += 1) {
    bytes[start + digit] = HEX_DIGITS.charCodeAt((checksum >>> (28 - 4 * digit)) & 0xf);
  }
  bytes[body - 1] = SPACE;
  bytes[end] = NEWLINE;
  return end + 1;
}

/**
 * Returns the sound records of a segment up to the first that is not. A crash can leave part of a record at the end; a
 * loss of power can leave zeros there. Such a record was never acknowledged, so it is left out. The newline is written
 * last: a line that has one but is not sound was damaged later.
 */
export function readSegment(disk: Disk, path: string): SegmentContents {
  const bytes = disk.read(path);
  const records: JournalRecord[] = [];
  let soundBytes = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, soundBytes);
    const found = { records, soundBytes, fileBytes: bytes.length };
    if (end === -1) return { ...found, isDamaged: false };
    const record = readLine(bytes, soundBytes, end);
    const last = records.at(-1);
    if (record === undefined || (last !== undefined && record.position !== last.position + 1)) {
      return { ...found, isDamaged: true };
    }
    records.push(record);
    soundBytes = end + 1;
  }
}

function readLine(bytes: Buffer, start: number, end: number): JournalRecord | undefined {
  const bodyStart = start + BODY_OFFSET;
  if (bodyStart >= end) return undefined;
  const checksum = crc32(bytes.subarray(bodyStart, end)).toString(16).padStart(CHECKSUM_BYTES, "0");
  if (bytes.toString("latin1", start, bodyStart) !== `${checksum} `) return undefined;
  const space = bytes.indexOf(SPACE, bodyStart);
  if (space === -1 || space >= end) return undefined;
  const position = Number(bytes.toString("latin1", bodyStart, space));
  if (!Number.isSafeInteger(position) || position < 1) return undefined;
  return { position, payload: bytes.toString("utf8", space + 1, end) };
}
