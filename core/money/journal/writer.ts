import { join } from "node:path";
import type { Disk } from "../../process/disk.ts";
import { segmentName } from "./recovery.ts";
import { LINE_FRAME_BYTES, writeLine } from "./segment.ts";

const RECORD_BYTES_MAX = 64 * 1024;
/** Maximum size of one write. */
export const GATHERED_BYTES = 256 * 1024;

/** The journal has reached `bytesMax`, or a record is longer than 64 KB. */
export class JournalFull extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JournalFull";
  }
}

/** Writes one segment file. Do not use it after a failed sync: a later sync can succeed though writes are lost. */
export class SegmentWriter {
  readonly path: string;
  private readonly fd: number;
  private size = 0;
  private isNameSynced = false;
  private syncing = false;
  private closed = false;

  /**
   * Creates the file. Throws if it cannot be created. Its first sync also syncs its name. `gathered`: a buffer of
   * GATHERED_BYTES for the lines of one write.
   */
  constructor(
    private readonly disk: Disk,
    private readonly folder: string,
    position: number,
    private readonly gathered: Buffer,
  ) {
    this.path = freePath(disk, folder, position);
    this.fd = disk.create(this.path);
  }

  get bytes(): number {
    return this.size;
  }

  /** Appends lines of at most `bytesMax` bytes. If it throws, some of them may be in the file: truncate it. */
  append(
    payloads: readonly string[],
    first: number,
    bytesMax = Number.POSITIVE_INFINITY,
    fullMessage = () => "",
  ): void {
    const sizeMax = this.size + bytesMax;
    let end = 0;
    for (const [at, payload] of payloads.entries()) {
      const lineMax = lineBytesMax(payload);
      if (lineMax > RECORD_BYTES_MAX) {
        throw new JournalFull(
          `a record of ${payload.length} characters is longer than ${RECORD_BYTES_MAX} bytes`,
        );
      }
      if (end + lineMax > GATHERED_BYTES) {
        if (this.size + end > sizeMax) throw new JournalFull(fullMessage());
        this.write(end);
        end = 0;
      }
      end = writeLine(this.gathered, end, first + at, payload);
    }
    if (this.size + end > sizeMax) throw new JournalFull(fullMessage());
    this.write(end);
  }

  truncate(bytes: number): void {
    this.size = bytes;
    try {
      this.disk.truncate(this.fd, bytes);
    } catch (cause) {
      throw new Error(`cannot write ${this.path}`, { cause });
    }
  }

  /** Syncs before it returns: for a start and a stop, which serve no call. */
  sync(): void {
    try {
      if (!this.isNameSynced) this.disk.syncFolder(this.folder);
      this.isNameSynced = true;
      this.disk.sync(this.fd);
    } catch (cause) {
      throw new Error(`cannot sync ${this.path}`, { cause });
    }
  }

  /** Syncs what is written by now, in the background. One at a time. */
  syncSoon(): Promise<void> {
    this.syncing = true;
    const folder = this.isNameSynced ? undefined : this.folder;
    return new Promise((resolve, reject) => {
      const onSynced = (cause: Error | null) => {
        this.syncing = false;
        if (this.closed) this.disk.close(this.fd);
        if (cause) return reject(new Error(`cannot sync ${this.path}`, { cause }));
        this.isNameSynced = true;
        resolve();
      };
      this.disk.syncSoon(this.fd, onSynced, folder);
    });
  }

  /** Closes the file, unless a sync in the background still uses it: that closes it. */
  close(): void {
    this.closed = true;
    if (!this.syncing) this.disk.close(this.fd);
  }

  private write(length: number): void {
    let written = 0;
    try {
      while (written < length) {
        written += this.disk.write(this.fd, this.gathered, written, length - written);
      }
    } catch (cause) {
      throw new Error(`cannot write ${this.path}`, { cause });
    }
    this.size += length;
  }

  /**
   * Closes and deletes the file, whose records are not needed. Never throws: a file that stays does no harm at
   * recovery.
   */
  discard(): void {
    try {
      this.close();
      this.disk.remove(this.path);
    } catch {
      // The disk fails; the file stays.
    }
  }
}

/**
 * Returns an upper bound of the bytes of a line. Measures the line only if 3 bytes per UTF-16 unit, the maximum in
 * UTF-8, are too many.
 */
function lineBytesMax(payload: string): number {
  const most = LINE_FRAME_BYTES + payload.length * 3;
  return most <= RECORD_BYTES_MAX ? most : LINE_FRAME_BYTES + Buffer.byteLength(payload);
}

/** A segment that could not be synced may have the same first position as the one that replaces it. */
function freePath(disk: Disk, folder: string, position: number): string {
  for (let copy = 0; ; copy += 1) {
    const path = join(folder, segmentName(position, copy));
    if (!disk.exists(path)) return path;
  }
}
