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
  /** Maximum size of all segments together; beyond it `appendAll` throws JournalFull. */
  readonly bytesMax: number;
  /** A new segment begins once the current one has this size. */
  readonly segmentBytes?: number;
  /**
   * False: records are synced each second, and written again if that fails. True: as soon as `whenSynced` asks for it, and
   * dropped if that fails.
   */
  readonly sync: boolean;
  /** How long to wait for another process to release the folder. */
  readonly lockWaitMs?: number;
  readonly log: Log;
  readonly machine?: Machine;
}

interface Waiter {
  /** Position of the last record to wait for. */
  readonly through: number;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * An append-only log in segment files. Records that are appended together take one synchronous write. Once `appendAll`
 * returns, they survive a kill -9 of this process, and once `whenSynced` resolves, a loss of power. A segment is deleted
 * once all its records are acknowledged. Acknowledging writes nothing, so some come back after a start: readers must be
 * idempotent.
 *
 * One sync runs at a time, in the background, for all records that are written by then. After a failed one the kernel may
 * have dropped what was written, and a later sync of that file proves nothing. So records are refused until a new segment,
 * which begins with those not known to be on the disk, is written and synced.
 */
export class Journal {
  private readonly disk: Disk;
  private readonly gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  private readonly timer: Timer;
  private readonly closed: ClosedSegments;
  /** The segment that is being written. Undefined after a failed sync, and if the next segment cannot be created. */
  private segment: SegmentWriter | undefined;
  /** How much of that segment is known to be on the disk, in bytes. */
  private syncedBytes = 0;
  private nextPosition: number;
  /** All records through this position are safe elsewhere, and those of `acknowledgedBeyond`. */
  private acknowledged: number;
  private readonly acknowledgedBeyond = new Set<number>();
  /** The last records, which are not known to be on the disk, and since when there are any. */
  private unsynced: string[] = [];
  private unsyncedSinceMs = 0;
  /** When the last round ran, and for how long all of them were late. */
  private roundMs: number;
  private stalledMs = 0;
  /** In the order of their positions. */
  private waiters: Waiter[] = [];
  /** Resolves when the running sync is over. */
  private syncing: Promise<void> | undefined;
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

  private constructor(
    private readonly options: Required<JournalOptions>,
    private readonly lock: FolderLock,
  ) {
    const { disk } = options.machine;
    this.disk = disk;
    this.probe = new DiskProbe({ disk, scratch: this.gathered, ...options });
    const found = recoverJournal(disk, options.folder, options.log);
    this.recovered = found.records;
    const nowMs = () => options.machine.monotonic();
    this.roundMs = nowMs();
    this.closed = new ClosedSegments(
      disk,
      new ThrottledLog(options.log, { nowMs }),
      found.segments,
    );
    this.nextPosition = (found.segments.at(-1)?.lastPosition ?? 0) + 1;
    this.acknowledged = (found.records[0]?.position ?? this.nextPosition) - 1;
    // A segment that an operator set aside leaves a gap.
    let before = this.acknowledged;
    for (const { position } of found.records) {
      while (++before < position) this.acknowledgedBeyond.add(before);
    }
    // Their writer may have been killed after a failed sync, or before any: a sync of its file now would prove nothing.
    this.unsynced = found.newest.map(({ payload }) => payload);
    this.unsyncedSinceMs = this.runningMs();
    try {
      this.beginNow();
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

  /** How long the oldest record has waited for the disk, in ms; 0 if none waits. */
  get unsyncedMs(): number {
    if (this.unsynced.length === 0) return 0;
    return this.runningMs() - this.unsyncedSinceMs;
  }

  /** A clock that stands still while this process does: then it is not the disk that is slow. */
  private runningMs(): number {
    const nowMs = this.options.machine.monotonic();
    return nowMs - this.stalledMs - this.lateMs(nowMs);
  }

  /** For how long the next round should have run. */
  private lateMs(nowMs: number): number {
    return Math.max(0, nowMs - this.roundMs - LIFETIMES.journalSyncMs);
  }

  /** Returns why a record of this size cannot be appended, or should not be; undefined if it can. */
  refusal(bytes: number): string | undefined {
    const failure = this.distrusted ?? this.probe.failure;
    if (failure) return failure.message;
    if (this.unsyncedMs > LIFETIMES.unsyncedMsMax) return this.slowMessage();
    return this.bytes + bytes > this.options.bytesMax ? this.fullMessage() : undefined;
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

  /**
   * Resolves once the records up to and including `through` are on the disk, by a sync that began after they were written.
   * Rejects if it failed: then none of them is kept.
   */
  whenSynced(through: number): Promise<void> {
    if (through < this.nextPosition - this.unsynced.length) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiters.push({ through, resolve, reject });
      // Once the others of this turn are written.
      queueMicrotask(() => this.sync());
    });
  }

  /** Marks a record as safe elsewhere, and deletes the oldest segments if they have no others. */
  acknowledge(position: number): void {
    this.acknowledgedBeyond.add(position);
    while (this.acknowledgedBeyond.delete(this.acknowledged + 1)) this.acknowledged += 1;
    this.closed.deleteThrough(this.acknowledged);
  }

  /** Syncs the disk, deletes acknowledged segments, and releases the folder. Rejects if the sync failed. */
  async close(): Promise<void> {
    this.timer.close();
    this.isClosed = true;
    let failure: Error | undefined;
    while (this.syncing) await this.syncing;
    try {
      if (this.distrusted) this.beginNow();
      const { segment } = this;
      segment?.sync();
      this.synced(this.nextPosition - 1);
      if (segment) this.leaveSegment(segment);
    } catch (error) {
      this.distrust(errorOf(error));
      const text = "cannot sync the journal; a loss of power now may lose its last calls";
      failure = new Error(text, { cause: error });
    }
    this.closed.deleteThrough(this.acknowledged);
    await this.lock.release();
    if (failure) throw failure;
  }

  private keepAll(payloads: readonly string[]): number {
    const { bytesMax } = this.options;
    const segment = this.segmentToWrite();
    const first = this.nextPosition;
    const before = segment.bytes;
    try {
      segment.append(payloads, first, bytesMax - this.bytes, () => this.fullMessage());
    } catch (error) {
      this.cut(segment, before);
      throw error;
    }
    if (this.unsynced.length === 0) this.unsyncedSinceMs = this.runningMs();
    for (const payload of payloads) this.unsynced.push(payload);
    this.nextPosition = first + payloads.length;
    return first;
  }

  private fullMessage(): string {
    const { folder, bytesMax } = this.options;
    const advice = "it empties once the ledger or Redis is reachable again";
    return `the journal in ${folder} is full (${bytesMax} bytes): ${advice}`;
  }

  private slowMessage(): string {
    const seconds = Math.floor(this.unsyncedMs / 1_000);
    return `the disk of ${this.options.folder} is slow: it has not synced the journal for ${seconds} s`;
  }

  /** Truncates a partial write. If that fails, the segment is not used any more. */
  private cut(segment: SegmentWriter, bytes: number): void {
    try {
      segment.truncate(bytes);
    } catch (error) {
      this.distrust(errorOf(error));
    }
  }

  /**
   * Returns the segment, or a new one if it has its size. The new one repeats the records that are not known to be on the
   * disk, so that nothing waits for a sync of the one before.
   */
  private segmentToWrite(): SegmentWriter {
    const { segment, options } = this;
    if (segment) {
      if (segment.bytes < options.segmentBytes) return segment;
      const unsyncedBytes = segment.bytes - this.syncedBytes;
      // A record that may have to be dropped is in one segment only. And a slow disk is not given everything twice.
      if (unsyncedBytes > (options.sync ? 0 : options.segmentBytes / 2)) return segment;
    }
    const next = this.repeated();
    if (segment) this.leaveSegment(segment);
    this.segment = next;
    this.syncedBytes = 0;
    return next;
  }

  /** Returns a new segment with the records that are not known to be on the disk. */
  private repeated(): SegmentWriter {
    const { disk, options, nextPosition, gathered, unsynced } = this;
    const segment = new SegmentWriter(disk, options.folder, nextPosition, gathered);
    try {
      segment.append(unsynced, nextPosition - unsynced.length);
    } catch (error) {
      segment.discard();
      throw error;
    }
    return segment;
  }

  /** Begins a segment that is on the disk when this returns: for a start and a stop. */
  private beginNow(): void {
    const segment = this.repeated();
    try {
      segment.sync();
    } catch (error) {
      segment.discard();
      throw error;
    }
    this.adopt(segment);
  }

  private adopt(segment: SegmentWriter): void {
    this.segment = segment;
    this.syncedBytes = segment.bytes;
    this.distrusted = undefined;
    this.synced(this.nextPosition - 1);
  }

  private leaveSegment(segment: SegmentWriter): void {
    this.segment = undefined;
    const { path, bytes } = segment;
    if (bytes === 0) return segment.discard();
    segment.close();
    this.closed.add({ path, bytes, lastPosition: this.nextPosition - 1 });
  }

  /** Syncs what is written by now, unless a sync runs. */
  private sync(): void {
    const { segment } = this;
    if (segment === undefined || this.syncing || this.unsynced.length === 0) return;
    this.syncing = this.syncOnce(segment).finally(() => {
      this.syncing = undefined;
      if (this.waiters.length > 0) this.sync();
    });
  }

  private async syncOnce(segment: SegmentWriter): Promise<void> {
    const through = this.nextPosition - 1;
    const { bytes } = segment;
    const beganMs = this.runningMs();
    try {
      await segment.syncSoon();
    } catch (error) {
      return this.distrust(errorOf(error));
    }
    if (segment === this.segment) this.syncedBytes = bytes;
    this.synced(through, beganMs);
  }

  /** The records up to `through` are on the disk. Those after it were written since `beganMs`. */
  private synced(through: number, beganMs = 0): void {
    const left = Math.max(0, this.nextPosition - 1 - through);
    this.unsynced = this.unsynced.slice(this.unsynced.length - left);
    this.unsyncedSinceMs = beganMs;
    while (this.waiters[0] && this.waiters[0].through <= through) this.waiters.shift()?.resolve();
  }

  /** Refuses records until `repair` succeeds. The segment stays as it is: it may have records that are nowhere else. */
  private distrust(error: Error): void {
    const { segment } = this;
    if (segment && this.options.sync) this.drop(segment, error);
    if (segment) this.leaveSegment(segment);
    if (this.distrusted) return;
    this.distrusted = error;
    this.probe.failure ??= error;
    this.options.log.error(
      { err: error },
      "cannot sync the journal; new calls get 503 until a new file is synced",
    );
  }

  /** Drops the records that are not known to be on the disk. Their callers learn that none was kept. */
  private drop(segment: SegmentWriter, error: Error): void {
    this.nextPosition -= this.unsynced.length;
    this.unsynced = [];
    try {
      segment.truncate(this.syncedBytes);
    } catch {} // A start may find them again, as after any kill.
    const { waiters } = this;
    this.waiters = [];
    for (const { reject } of waiters) reject(error);
  }

  /** Runs each second: syncs in the background, or retries after a failure. */
  private round(): void {
    const nowMs = this.options.machine.monotonic();
    this.stalledMs += this.lateMs(nowMs);
    this.roundMs = nowMs;
    if (this.distrusted) this.repair();
    else if (this.probe.failure) this.probe.try();
    this.sync();
  }

  /** Goes on in a new segment once that is on the disk. A later round tries again if it fails. */
  private repair(): void {
    if (this.syncing) return;
    let segment: SegmentWriter;
    try {
      segment = this.repeated();
    } catch {
      return;
    }
    this.syncing = this.repairWith(segment).finally(() => {
      this.syncing = undefined;
    });
  }

  private async repairWith(segment: SegmentWriter): Promise<void> {
    const calls = this.unsynced.length;
    try {
      await segment.syncSoon();
    } catch {
      return segment.discard();
    }
    this.adopt(segment);
    this.options.log.info({ calls }, "the journal goes on in a new file");
    this.probe.try();
  }
}
