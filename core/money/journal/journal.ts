import { join } from "node:path";
import type { Disk } from "../../process/disk.ts";
import type { FolderLock } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine, type Timer } from "../../process/machine.ts";
import { errorOf } from "../../process/thrown.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { recoverJournal, type SegmentFile, segmentName } from "./recovery.ts";
import { type JournalRecord, LINE_FRAME_BYTES, writeLine } from "./segment.ts";

const SEGMENT_BYTES = 8 * 1024 * 1024;
const RECORD_BYTES_MAX = 64 * 1024;
/** Maximum size of one write. */
const GATHERED_BYTES = 256 * 1024;

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

/** The journal has reached `bytesMax`, or a record is longer than 64 KB. */
export class JournalFull extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JournalFull";
  }
}

/**
 * An append-only log in segment files. Records that are appended together take one synchronous write. Once `append`
 * returns, they survive a kill -9 of this process, and with `sync` a loss of power. A segment is deleted once all its
 * records are acknowledged. An acknowledgement itself writes nothing, so after a start some acknowledged records come
 * back: readers must be idempotent.
 */
export class Journal {
  private readonly options: Required<JournalOptions>;
  private readonly disk: Disk;
  private readonly lock: FolderLock;
  private readonly gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  private readonly timer: Timer;
  private closed: SegmentFile[];
  private closedBytes: number;
  private path = "";
  private fd = -1;
  private fileBytes = 0;
  private nextPosition: number;
  private acknowledged = 0;
  private dirty = false;
  private syncing = false;
  /** Set for good if the disk failed: earlier writes may be lost. */
  private failure: Error | undefined;
  /** The last failed write, perhaps of a full disk; undefined once a write succeeds. */
  private refused: { readonly error: Error; readonly atMs: number } | undefined;
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
    const found = recoverJournal(disk, options.folder, options.log);
    this.recovered = found.records;
    this.closed = found.segments;
    this.closedBytes = found.segments.reduce((sum, segment) => sum + segment.bytes, 0);
    this.nextPosition = (found.segments.at(-1)?.lastPosition ?? 0) + 1;
    this.startSegment();
    this.timer = options.machine.every(LIFETIMES.journalSyncMs, () => this.syncSoon());
    this.timer.unref();
  }

  /** Size of all segments, in bytes. */
  get bytes(): number {
    return this.closedBytes + this.fileBytes;
  }

  /** Returns why a record of this size cannot be appended; undefined if it can. */
  refusal(bytes: number): string | undefined {
    if (this.failure !== undefined) return this.failure.message;
    if (
      this.refused &&
      this.options.machine.monotonic() < this.refused.atMs + LIFETIMES.journalWriteRetryMs
    ) {
      return this.refused.error.message;
    }
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
    if (this.failure !== undefined) throw this.failure;
    try {
      const first = this.keepAll(payloads);
      this.refused = undefined;
      return first;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (!(error instanceof JournalFull)) {
        this.refused = { error, atMs: this.options.machine.monotonic() };
      }
      throw error;
    }
  }

  /** Marks all records up to and including `through` as safe elsewhere, and deletes segments without others. */
  acknowledge(through: number): void {
    this.acknowledged = through;
    let done = 0;
    for (const segment of this.closed) {
      if (segment.lastPosition > through) break;
      this.disk.remove(segment.path);
      this.closedBytes -= segment.bytes;
      done += 1;
    }
    if (done > 0) this.closed = this.closed.slice(done);
  }

  /** Syncs the disk, deletes acknowledged segments, and releases the folder. */
  async close(): Promise<void> {
    this.timer.close();
    if (this.fd !== -1) this.finishSegment();
    this.failure ??= new Error(`the journal in ${this.options.folder} is closed`);
    this.acknowledge(this.acknowledged);
    await this.lock.release();
  }

  private keepAll(payloads: readonly string[]): number {
    if (this.fileBytes >= this.options.segmentBytes) this.finishSegment();
    if (this.fd === -1) this.startSegment();
    const first = this.nextPosition;
    const before = this.fileBytes;
    try {
      this.writeAll(payloads, first);
      if (this.options.sync) this.sync();
    } catch (error) {
      this.cutTo(before);
      throw error;
    }
    this.dirty = !this.options.sync;
    this.nextPosition = first + payloads.length;
    return first;
  }

  private fullMessage(): string {
    return (
      `the journal in ${this.options.folder} is full (${this.options.bytesMax} bytes): ` +
      "it empties once the ledger or Redis is reachable again"
    );
  }

  private writeAll(payloads: readonly string[], first: number): void {
    let end = 0;
    for (const [at, payload] of payloads.entries()) {
      const bytesMax = lineBytesMax(payload);
      if (bytesMax > RECORD_BYTES_MAX) {
        throw new JournalFull(
          `a record of ${payload.length} characters is longer than ${RECORD_BYTES_MAX} bytes`,
        );
      }
      if (end + bytesMax > GATHERED_BYTES) {
        this.write(end);
        end = 0;
      }
      end = writeLine(this.gathered, end, first + at, payload);
    }
    this.write(end);
  }

  private write(bytes: number): void {
    if (this.bytes + bytes > this.options.bytesMax) throw new JournalFull(this.fullMessage());
    let written = 0;
    try {
      while (written < bytes) {
        written += this.disk.write(this.fd, this.gathered, written, bytes - written);
      }
    } catch (cause) {
      throw new Error(`cannot write ${this.path}`, { cause });
    }
    this.fileBytes += bytes;
  }

  /** Refuses all further writes after a failed sync: the kernel may have dropped pages, and reports it only once. */
  private sync(): void {
    try {
      this.disk.sync(this.fd);
    } catch (cause) {
      this.failure = new Error(`cannot write ${this.path}`, { cause });
      throw this.failure;
    }
  }

  /** Truncates a partial write. If that fails too, refuses all further writes. */
  private cutTo(fileBytes: number): void {
    this.fileBytes = fileBytes;
    try {
      this.disk.truncate(this.fd, fileBytes);
    } catch (cause) {
      this.failure = new Error(`cannot write ${this.path}`, { cause });
    }
  }

  private startSegment(): void {
    const { folder } = this.options;
    this.path = join(folder, segmentName(this.nextPosition));
    this.fd = this.disk.create(this.path);
    this.disk.syncFolder(folder);
  }

  /** Syncs a segment before it is closed, so that only the newest can have a torn end. */
  private finishSegment(): void {
    this.disk.sync(this.fd);
    // A sync in the thread pool may still use the descriptor; its callback then closes it.
    if (!this.syncing) this.disk.close(this.fd);
    this.fd = -1;
    this.dirty = false;
    if (this.fileBytes === 0) {
      this.disk.remove(this.path);
      return;
    }
    const lastPosition = this.nextPosition - 1;
    this.closed.push({ path: this.path, bytes: this.fileBytes, lastPosition });
    this.closedBytes += this.fileBytes;
    this.fileBytes = 0;
  }

  private syncSoon(): void {
    if (!this.dirty || this.syncing) return;
    this.dirty = false;
    this.syncing = true;
    const fd = this.fd;
    this.disk.syncSoon(fd, (error) => {
      this.syncing = false;
      if (this.fd !== fd) this.disk.close(fd);
      if (!error) return;
      this.failure = new Error(`cannot sync ${this.path}`, { cause: error });
      this.options.log.error(
        { err: error },
        "cannot sync the journal; new calls get 503 until a restart",
      );
    });
  }
}

/** Returns at least the bytes of a line. Measures it only if 3 bytes per UTF-16 unit, the most in UTF-8, are too many. */
function lineBytesMax(payload: string): number {
  const most = LINE_FRAME_BYTES + payload.length * 3;
  return most <= RECORD_BYTES_MAX ? most : LINE_FRAME_BYTES + Buffer.byteLength(payload);
}
