import type { Disk } from "../../process/disk.ts";
import type { FolderLock } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine, type Timer } from "../../process/machine.ts";
import { ThrottledLog } from "../../process/throttled-log.ts";
import { errorOf } from "../../process/thrown.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { ClosedSegments } from "./closed-segments.ts";
import { DiskProbe } from "./probe.ts";
import { recoverJournal, syncFound } from "./recovery.ts";
import type { JournalRecord } from "./segment.ts";
import { GATHERED_BYTES, JournalFull, SegmentWriter } from "./writer.ts";

const SEGMENT_BYTES = 8 * 1024 * 1024;

export interface JournalOptions {
  /** The journal's own folder; created with mode 700, and locked while the journal is open. */
  readonly folder: string;
  /** Maximum size of all segments together; beyond it `append` throws JournalFull. */
  readonly bytesMax: number;
  /** A new segment begins once the current one has this size. */
  readonly segmentBytes?: number;
  /** True: a record is on the disk when `append` returns. False: in the page cache, on the disk within a second. */
  readonly sync: boolean;
  /** How long to wait for another process to release the folder. */
  readonly lockWaitMs?: number;
  readonly log: Log;
  readonly machine?: Machine;
}

/**
 * An append-only log in segment files. Records that are appended together take one synchronous write. Once `append`
 * returns, they survive a kill -9 of this process, and with `sync` a loss of power. A segment is deleted once all its
 * records are acknowledged. Acknowledging writes nothing, so some come back after a start: readers must be idempotent.
 *
 * After a failed sync the kernel may have dropped what was written, and a later sync of that file proves nothing. So
 * records are refused until a new segment, which begins with those not known to be on the disk, is written and synced.
 */
export class Journal {
  private readonly options: Required<JournalOptions>;
  private readonly disk: Disk;
  private readonly lock: FolderLock;
  private readonly gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  private readonly timer: Timer;
  private readonly closed: ClosedSegments;
  /** The segment that is being written. Undefined after a failed sync, and if the next segment cannot be created. */
  private segment: SegmentWriter | undefined;
  private nextPosition: number;
  private acknowledged = 0;
  /** The last records, which are not known to be on the disk. */
  private unsynced: string[] = [];
  /** True while a sync runs in the background. */
  private syncing = false;
  /** Set from a failed sync until a new segment is on the disk. */
  private distrusted: Error | undefined;
  private isClosed = false;
  private readonly probe: DiskProbe;
  /** Records that were not acknowledged when the journal was last open, oldest first. */
  readonly recovered: readonly JournalRecord[];

  /** Reads the existing segments and starts a new one. Throws FolderInUse, DamagedSegment or MissingRecords. */
  static async open(options: JournalOptions): Promise<Journal> {
    const settings = {
      segmentBytes: SEGMENT_BYTES,
      lockWaitMs: LIFETIMES.journalLockWaitMs,
      machine: systemMachine,
      ...options,
    };
    const lock = await settings.machine.disk.lock(settings.folder, settings.lockWaitMs);
    try {
      return new Journal(settings, lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  private constructor(options: Required<JournalOptions>, lock: FolderLock) {
    const { disk } = options.machine;
    this.options = options;
    this.disk = disk;
    this.lock = lock;
    this.probe = new DiskProbe({ disk, scratch: this.gathered, ...options });
    const found = recoverJournal(disk, options.folder, options.log);
    this.recovered = found.records;
    const nowMs = () => options.machine.monotonic();
    this.closed = new ClosedSegments(
      disk,
      new ThrottledLog(options.log, { nowMs }),
      found.segments,
    );
    this.nextPosition = (found.segments.at(-1)?.lastPosition ?? 0) + 1;
    // Their writer may have been killed after a failed sync, or before any: a sync of its file now would prove nothing.
    this.unsynced = found.newest.map(({ payload }) => payload);
    try {
      this.begin();
      // The current segment repeats its records, so that starts do not add up copies.
      if (found.newest.length > 0) this.closed.deleteNewest();
    } catch (error) {
      this.distrust(errorOf(error));
      // A full disk has no room for a copy of the records.
      syncFound(disk, found.segments);
    }
    if (!this.distrusted) this.probe.try();
    this.timer = options.machine.every(LIFETIMES.journalSyncMs, () => this.round());
    this.timer.unref();
  }

  /** Size of all segments, in bytes. */
  get bytes(): number {
    return this.closed.bytes + (this.segment?.bytes ?? 0);
  }

  /** Returns why a record of this size cannot be appended; undefined if it can. */
  refusal(bytes: number): string | undefined {
    const failure = this.distrusted ?? this.probe.failure;
    if (failure) return failure.message;
    return this.bytes + bytes > this.options.bytesMax ? this.fullMessage() : undefined;
  }

  /** Position of the next record. */
  get position(): number {
    return this.nextPosition;
  }

  /** Appends one line of text. Returns its position. Throws if it cannot be written; then nothing of it is kept. */
  append(payload: string): number {
    return this.appendAll([payload]);
  }

  /** Appends lines of text. Returns the position of the first. Throws if they cannot be written; then none is kept. */
  appendAll(payloads: readonly string[]): number {
    if (this.isClosed) throw new Error(`the journal in ${this.options.folder} is closed`);
    if (this.distrusted) throw this.distrusted;
    try {
      return this.keepAll(payloads);
    } catch (thrown) {
      const error = errorOf(thrown);
      if (!(error instanceof JournalFull)) this.probe.failed(error);
      throw error;
    }
  }

  /** Marks all records up to and including `through` as safe elsewhere, and deletes segments that have no others. */
  acknowledge(through: number): void {
    this.acknowledged = through;
    this.closed.deleteThrough(through);
  }

  /** Syncs the disk, deletes acknowledged segments, and releases the folder. Rejects if the sync failed. */
  async close(): Promise<void> {
    this.timer.close();
    let failure: Error | undefined;
    try {
      this.repair();
      this.finishSegment();
    } catch (error) {
      const text = "cannot sync the journal; a loss of power now may lose its last calls";
      failure = new Error(text, { cause: error });
    }
    this.isClosed = true;
    this.acknowledge(this.acknowledged);
    await this.lock.release();
    if (failure) throw failure;
  }

  private keepAll(payloads: readonly string[]): number {
    const { sync, segmentBytes, bytesMax } = this.options;
    if (this.segment && this.segment.bytes >= segmentBytes) this.finishSegment();
    this.segment ??= this.newSegment();
    const { segment, nextPosition: first } = this;
    const before = segment.bytes;
    try {
      segment.append(payloads, first, bytesMax - this.bytes, () => this.fullMessage());
    } catch (error) {
      this.cut(segment, before);
      throw error;
    }
    if (sync) this.syncOr(segment, () => this.cut(segment, before));
    else for (const payload of payloads) this.unsynced.push(payload);
    this.nextPosition = first + payloads.length;
    return first;
  }

  private fullMessage(): string {
    const { folder, bytesMax } = this.options;
    const advice = "it empties once the ledger or Redis is reachable again";
    return `the journal in ${folder} is full (${bytesMax} bytes): ${advice}`;
  }

  /** Truncates a partial write. If that fails, the segment is not used any more. */
  private cut(segment: SegmentWriter, bytes: number): void {
    try {
      segment.truncate(bytes);
    } catch (error) {
      this.distrust(errorOf(error));
    }
  }

  private newSegment(): SegmentWriter {
    return new SegmentWriter(this.disk, this.options.folder, this.nextPosition, this.gathered);
  }

  /** Syncs a segment before it is closed, so that only the newest can have a torn end. */
  private finishSegment(): void {
    const { segment } = this;
    if (segment === undefined) return;
    this.syncOr(segment, () => {});
    // If a sync in the background fails, this one has proved nothing.
    if (!this.syncing) this.unsynced = [];
    this.leaveSegment(segment);
  }

  private syncOr(segment: SegmentWriter, onFailure: () => void): void {
    try {
      segment.sync();
    } catch (error) {
      onFailure();
      this.distrust(errorOf(error));
      throw error;
    }
  }

  private leaveSegment(segment: SegmentWriter): void {
    this.segment = undefined;
    const { path, bytes } = segment;
    if (bytes === 0) return segment.discard();
    segment.close();
    this.closed.add({ path, bytes, lastPosition: this.nextPosition - 1 });
  }

  /** Refuses records until `repair` succeeds. The segment stays as it is: it may have records that are nowhere else. */
  private distrust(error: Error): void {
    if (this.segment) this.leaveSegment(this.segment);
    if (this.distrusted) return;
    this.distrusted = error;
    this.probe.failure ??= error;
    this.options.log.error(
      { err: error },
      "cannot sync the journal; new calls get 503 until a new file is synced",
    );
  }

  /** Begins a new segment with the records that are not known to be on the disk, and syncs it. */
  private begin(): void {
    const segment = this.newSegment();
    try {
      segment.append(this.unsynced, this.nextPosition - this.unsynced.length);
      segment.sync();
    } catch (error) {
      segment.discard();
      throw error;
    }
    this.segment = segment;
    this.unsynced = [];
  }

  private repair(): void {
    if (this.distrusted === undefined) return;
    const calls = this.unsynced.length;
    this.begin();
    this.distrusted = undefined;
    this.options.log.info({ calls }, "the journal goes on in a new file");
  }

  /** Runs each second: syncs in the background, or retries after a failure. */
  private round(): void {
    if (this.distrusted) this.tryRepair();
    if (this.probe.failure && !this.distrusted) this.probe.try();
    const { segment } = this;
    if (segment === undefined || this.syncing || this.unsynced.length === 0) return;
    const after = this.nextPosition;
    this.syncing = true;
    segment.syncSoon((error) => {
      this.syncing = false;
      if (error) this.distrust(error);
      else this.unsynced = this.unsynced.slice(after - this.nextPosition || this.unsynced.length);
    });
  }

  private tryRepair(): void {
    try {
      this.repair();
    } catch {} // The next round tries again.
  }
}
