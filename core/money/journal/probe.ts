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
  /** The first failed write; undefined after a successful probe. */
  failure: Error | undefined;
  private isTrying = false;
  /** The failure when the running probe began. */
  private tried: Error | undefined;

  constructor(private readonly options: ProbeOptions) {}

  failed(error: Error): void {
    if (this.failure) return;
    this.failure = error;
    const text = "cannot write the journal; new calls get 503 until the disk has room";
    this.options.log.error({ err: error }, text);
  }

  /** Writes, syncs and removes a file; syncs it in the background. Never throws. */
  try(): void {
    if (this.isTrying) return;
    const { disk, folder } = this.options;
    const path = join(folder, NAME);
    this.tried = this.failure;
    try {
      if (disk.exists(path)) disk.remove(path);
      const fd = disk.create(path);
      this.isTrying = true;
      try {
        this.write(fd);
      } catch (error) {
        return this.end(fd, path, error);
      }
      disk.syncSoon(fd, (error) => this.end(fd, path, error));
    } catch (error) {
      this.failed(errorOf(error));
    }
  }

  private end(fd: number, path: string, error: unknown): void {
    const { disk, log } = this.options;
    this.isTrying = false;
    try {
      disk.close(fd);
      disk.remove(path);
      if (error) throw error;
    } catch (thrown) {
      return this.failed(errorOf(thrown));
    }
    // A write may have failed since the probe began.
    if (this.failure !== this.tried) return;
    if (this.failure) log.info("the journal can be written again");
    this.failure = undefined;
  }

  private write(fd: number): void {
    const { disk, scratch } = this.options;
    // A file system that compresses needs no room for zeros.
    randomFillSync(scratch);
    for (let written = 0; written < scratch.length; ) {
      written += disk.write(fd, scratch, written, scratch.length - written);
    }
  }
}
