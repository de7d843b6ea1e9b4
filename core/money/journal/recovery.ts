import { join } from "node:path";
import type { Disk } from "../../process/disk.ts";
import type { Log } from "../../process/log.ts";
import {
  DamagedSegment,
  type JournalRecord,
  readSegment,
  type SegmentContents,
} from "./segment.ts";

const EXTENSION = ".journal";
const SET_ASIDE = `${EXTENSION}.damaged`;

export interface SegmentFile {
  readonly path: string;
  readonly bytes: number;
  readonly lastPosition: number;
}

interface RecoveredJournal {
  /** The segments, oldest first; each holds at least one record. */
  readonly segments: SegmentFile[];
  readonly records: JournalRecord[];
  /** The records from the first of the newest segment on, which are perhaps not on the disk. */
  readonly newest: readonly JournalRecord[];
}

/** A segment, or the end of one, is missing. */
export class MissingRecords extends Error {
  constructor(folder: string, expected: number, found: number) {
    super(
      `the journal in ${folder} jumps from record ${expected - 1} to record ${found}: calls that were ` +
        "served and perhaps not charged are missing, so the gateway does not start. Restore the " +
        `segment; or create an empty file ${segmentName(expected)}.damaged there to start without it.`,
    );
    this.name = "MissingRecords";
  }
}

/** Returns the name of a segment: the next position when it began, padded so that names sort in order. */
export function segmentName(position: number, copy = 0): string {
  const suffix = copy === 0 ? "" : `_${String(copy).padStart(6, "0")}`;
  return `${String(position).padStart(16, "0")}${suffix}${EXTENSION}`;
}

/**
 * Reads all segments in order, and cuts a torn end off the newest. After a failed sync a segment repeats records of the
 * one before, which may have lost them. Throws DamagedSegment or MissingRecords for other damage. Skips a segment only
 * if the operator has set it aside.
 */
export function recoverJournal(disk: Disk, folder: string, log: Log): RecoveredJournal {
  const names = disk.list(folder).filter(isSegment).sort();
  const files = names.map((name) => {
    const path = join(folder, name);
    const contents = isSetAside(name) ? undefined : readSegment(disk, path);
    return { path, began: Number.parseInt(name, 10), contents };
  });
  const found = files.filter(({ contents }) => contents === undefined || !isEmpty(contents));
  for (const file of files) if (!found.includes(file)) disk.remove(file.path);
  const segments: SegmentFile[] = [];
  const records: JournalRecord[] = [];
  // The position at which the next segment must begin. Unknown for the first one, because older ones were deleted, and
  // after a segment that was set aside.
  let expected: number | undefined;
  for (const [at, { path, began, contents }] of found.entries()) {
    if (contents === undefined) {
      log.error(
        { path },
        "skipped a journal segment that is set aside as damaged; its calls are not committed",
      );
      expected = undefined;
      continue;
    }
    const isNewest = at === found.length - 1;
    if (contents.soundBytes < contents.fileBytes) {
      if (isNewest && !contents.isDamaged) cutTornEnd(disk, path, contents, log);
      else {
        // The next segment has all that this one may have lost, or a record is missing.
        const end = (contents.records.at(-1)?.position ?? began - 1) + 1;
        const next = found.slice(at + 1).flatMap((later) => later.contents?.records[0] ?? [])[0];
        if (next === undefined || next.position > end) throw new DamagedSegment(path, contents);
      }
    }
    const first = contents.records[0];
    const last = contents.records.at(-1);
    if (first === undefined || last === undefined) {
      disk.remove(path);
      continue;
    }
    if (expected !== undefined && first.position > expected) {
      throw new MissingRecords(folder, expected, first.position);
    }
    const end = records.length - (expected ?? first.position);
    for (const record of contents.records) records[end + record.position] = record;
    expected = Math.max(expected ?? 0, last.position + 1);
    segments.push({ path, bytes: contents.soundBytes, lastPosition: expected - 1 });
  }
  const newestFrom = found.at(-1)?.contents?.records[0]?.position ?? Number.POSITIVE_INFINITY;
  const newest = records.filter(({ position }) => position >= newestFrom);
  return { segments, records, newest };
}

/** Syncs the newest of the segments that a start found: its process may have been killed before it could. Never throws. */
export function syncFound(disk: Disk, segments: readonly SegmentFile[]): void {
  const newest = segments.at(-1);
  try {
    if (newest) truncateAndSync(disk, newest.path, newest.bytes);
  } catch {}
}

/** Returns true for a segment without a complete record: it is empty, or has only part of its first record. */
function isEmpty({ records, isDamaged }: SegmentContents): boolean {
  return records.length === 0 && !isDamaged;
}

function isSegment(name: string): boolean {
  return name.endsWith(EXTENSION) || isSetAside(name);
}

function isSetAside(name: string): boolean {
  return name.endsWith(SET_ASIDE);
}

function cutTornEnd(disk: Disk, path: string, contents: SegmentContents, log: Log): void {
  const bytes = contents.fileBytes - contents.soundBytes;
  log.warn(
    { path, bytes },
    "cut off a record that a crash left half written; it was never acknowledged",
  );
  truncateAndSync(disk, path, contents.soundBytes);
}

function truncateAndSync(disk: Disk, path: string, bytes: number): void {
  const fd = disk.open(path);
  try {
    disk.truncate(fd, bytes);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}
