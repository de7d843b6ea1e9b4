import type { Disk } from "../../process/disk.ts";
import type { ThrottledLog } from "../../process/throttled-log.ts";
import { codeOf } from "../../process/thrown.ts";
import type { SegmentFile } from "./recovery.ts";

/** The segments of a journal that get no more records, oldest first. */
export class ClosedSegments {
  private readonly segments: SegmentFile[];
  /** Size of all, in bytes. */
  bytes: number;

  constructor(
    private readonly disk: Disk,
    private readonly log: ThrottledLog,
    found: readonly SegmentFile[],
  ) {
    this.segments = [...found];
    this.bytes = found.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  add(segment: SegmentFile): void {
    this.segments.push(segment);
    this.bytes += segment.bytes;
  }

  /**
   * Deletes the segments that have no record after `position`. The next call tries again to delete what the disk did not:
   * a start would read it once more, which harms nothing. Later ones stay until then, so that there is no gap.
   */
  deleteThrough(position: number): void {
    for (;;) {
      const [oldest] = this.segments;
      if (!oldest || oldest.lastPosition > position || !this.isDeleted(oldest)) return;
      this.segments.shift();
      this.bytes -= oldest.bytes;
    }
  }

  deleteNewest(): void {
    const newest = this.segments.pop();
    if (newest) this.disk.remove(newest.path);
    this.bytes -= newest?.bytes ?? 0;
  }

  private isDeleted({ path }: SegmentFile): boolean {
    try {
      this.disk.remove(path);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return true;
      this.log.warn({ err: error }, "cannot delete a segment of the journal; retrying");
      return false;
    }
  }
}
