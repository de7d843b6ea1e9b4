import { randomFillSync } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../../process/disk.ts";
import type { Log } from "../../process/log.ts";
import { errorOf } from "../../process/thrown.ts";

/** Not the name of a segment: a start ignores the file if its writer was killed. */
const NAME = "probe";

interface ProbeOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** A buffer of the size of the largest write. A probe overwrites it. */
  readonly scratch: Buffer;
  readonly log: Log;
}

/**
 * Remembers that a write failed, perhaps on a full disk, until a probe succeeds. A small write that succeeds is no proof:
 * the last block of a file has room on a full disk too.
 */
export class DiskProbe {
  private readonly options: ProbeOptions;
  /** The first failed write; undefined after a successful probe. */
  failure: Error | undefined;

  constructor(options: ProbeOptions) {
    this.options = options;
  }

  failed(error: Error): void {
    if (this.failure) return;
    this.failure = error;
    const text = "cannot write the journal; new calls get 503 until the disk has room";
    this.options.log.error({ err: error }, text);
  }

  /** Writes, syncs and removes a file. Never throws. */
  try(): void {
    try {
      this.write();
    } catch (error) {
      return this.failed(errorOf(error));
    }
    if (this.failure) this.options.log.info("the journal can be written again");
    this.failure = undefined;
  }

  private write(): void {
    const { disk, folder, scratch } = this.options;
    const path = join(folder, NAME);
    if (disk.exists(path)) disk.remove(path);
    const fd = disk.create(path);
    try {
      // A file system that compresses needs no room for zeros.
      randomFillSync(scratch);
      for (let written = 0; written < scratch.length; ) {
        written += disk.write(fd, scratch, written, scratch.length - written);
      }
      disk.sync(fd);
    } finally {
      disk.close(fd);
      disk.remove(path);
    }
  }
}
