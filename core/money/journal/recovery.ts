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
  /** Oldest first; each holds at least one record. */
  readonly segments: SegmentFile[];
  readonly records: JournalRecord[];
}

/** A segment, or the end of one, is missing. */
export class MissingRecords extends Error {
  constructor(folder: string, expected: number, found: number) {
    super(
      `the journal in ${folder} jumps from record ${expected - 1} to record ${found}: calls that were ` +
        "served and may not be charged yet are missing, so the gateway does not start. Restore the " +
        `segment; or create an empty file ${segmentName(expected)}.damaged there to start without it.`,
    );
    this.name = "MissingRecords";
  }
}

/** Returns the name of a segment: the position of its first record, padded so that names sort in order. */
export function segmentName(firstPosition: number): string {
  return `${String(firstPosition).padStart(16, "0")}${EXTENSION}`;
}

/**
 * Reads all segments in order, and cuts a torn end off the newest. Throws DamagedSegment or MissingRecords for other
 * damage. Skips a segment only if the operator has set it aside.
 */
export function recoverJournal(disk: Disk, folder: string, log: Log): RecoveredJournal {
  const names = disk.list(folder).filter(isSegment).sort();
  const segments: SegmentFile[] = [];
  const records: JournalRecord[] = [];
  // Unknown for the first segment, because older ones were deleted, and after a segment that was set aside.
  let expected: number | undefined;
  for (const name of names) {
    const path = join(folder, name);
    if (name.endsWith(SET_ASIDE)) {
      log.error(
        { path },
        "skipped a journal segment that is set aside as damaged; its calls are not committed",
      );
      expected = undefined;
      continue;
    }
    const contents = readSegment(disk, path);
    const isNewest = name === names.at(-1);
    if (contents.soundBytes < contents.fileBytes) {
      if (!isNewest) throw new DamagedSegment(path, contents);
      cutTornEnd(disk, path, contents, log);
    } else if (isNewest) syncFile(disk, path);
    const first = contents.records[0];
    const last = contents.records.at(-1);
    if (first === undefined || last === undefined) {
      disk.remove(path);
      continue;
    }
    if (expected !== undefined && first.position !== expected) {
      throw new MissingRecords(folder, expected, first.position);
    }
    for (const record of contents.records) records.push(record);
    segments.push({ path, bytes: contents.soundBytes, lastPosition: last.position });
    expected = last.position + 1;
  }
  return { segments, records };
}

function isSegment(name: string): boolean {
  return name.endsWith(EXTENSION) || name.endsWith(SET_ASIDE);
}

/**
 * Syncs the last segment of a killed process, which may be in the page cache only. Once this process begins a newer
 * segment, an end torn by a loss of power would count as damage.
 */
function syncFile(disk: Disk, path: string): void {
  const fd = disk.open(path);
  try {
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

function cutTornEnd(disk: Disk, path: string, contents: SegmentContents, log: Log): void {
  const bytes = contents.fileBytes - contents.soundBytes;
  log.warn(
    { path, bytes },
    "cut off a record that a crash left half written; it was never acknowledged",
  );
  const fd = disk.open(path);
  try {
    disk.truncate(fd, contents.soundBytes);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}
