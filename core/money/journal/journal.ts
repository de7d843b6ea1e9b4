import { join } from "node:path";
import type { Disk } from "../../process/disk.ts";
import type { FolderLock } from "../../process/lock.ts";
import type { Log } from "../../process/log.ts";
import { type Machine, systemMachine, type Timer } from "../../process/machine.ts";
import { errorOf } from "../../process/thrown.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { recoverJournal, type SegmentFile, segmentName } from "./recovery.ts";
import { type JournalRecord, LINE_FRAME_BYTES, writeLine } from "./segment.ts";

/** After a write that failed, calls are refused for so long; then one may find out whether there is room again. */
const WRITE_RETRY_MS = 1_000;
const SEGMENT_BYTES = 8 * 1024 * 1024;
const RECORD_BYTES_MAX = 64 * 1024;
/** Bytes of one write, at most. */
const GATHERED_BYTES = 256 * 1024;

export interface JournalOptions {
  /** The journal's own folder, locked while it is open; created with mode 700. */
  readonly folder: string;
  /** Bytes of all segments together; `append` refuses beyond. */
  readonly bytesMax: number;
  /** A segment is closed once it is longer than this. */
  readonly segmentBytes?: number;
  /** True: a record is on the disk when `append` returns. False: in the page cache, on the disk within a second. */
  readonly sync: boolean;
  /** How long to wait for another process to give up the folder. */
  readonly lockWaitMs?: number;
  readonly log: Log;
  readonly machine?: Machine;
}

/** The journal has reached its bound, or a record is longer than any can be. */
export class JournalFull extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JournalFull";
  }
}

/**
 * Records in files of lines, appended with one synchronous write for all that come together: what `append` has
 * returned for survives a kill -9 of this process, and with `sync` a loss of power. Whole segments are deleted once
 * everything in them is acknowledged; an acknowledgement itself writes nothing, so after a start some
 * records come back that had been acknowledged. Readers must be idempotent.
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
  /** Set for good where the disk failed: what was written before cannot be vouched for any more. */
  private failure: Error | undefined;
  /** The last write that failed, of a disk that may be full; undefined once one has succeeded. */
  private refused: { readonly error: Error; readonly atMs: number } | undefined;
  /** Records that were not acknowledged when the journal was last open, oldest first. */
  readonly recovered: readonly JournalRecord[];

  /** Reads what is there and starts a new segment. Throws FolderInUse or DamagedSegment. */
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

  /** Bytes of all segments. */
  get bytes(): number {
    return this.closedBytes + this.fileBytes;
  }

  /** Why a record of this size could not be appended; undefined where it can. */
  refusal(bytes: number): string | undefined {
    if (this.failure !== undefined) return this.failure.message;
    if (this.refused && this.options.machine.monotonic() < this.refused.atMs + WRITE_RETRY_MS) {
      return this.refused.error.message;
    }
    return this.bytes + bytes > this.options.bytesMax ? this.fullMessage() : undefined;
  }

  /** The position that the next record gets. */
  get position(): number {
    return this.nextPosition;
  }

  /** Keeps one line of text and returns its position; throws where it cannot, and then keeps nothing of it. */
  append(payload: string): number {
    return this.appendAll([payload]);
  }

  /** Keeps lines of text and returns the position of the first; throws where it cannot, and then keeps none of them. */
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

  /** Everything up to and including this position is safe elsewhere: deletes the segments that end there. */
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

  /** Puts everything on the disk, deletes what is acknowledged, gives up the folder. */
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
      "what is in it waits for the store behind it"
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

  /** Nothing more is accepted after a sync has failed: the kernel may have dropped the pages, and says so once. */
  private sync(): void {
    try {
      this.disk.sync(this.fd);
    } catch (cause) {
      this.failure = new Error(`cannot write ${this.path}`, { cause });
      throw this.failure;
    }
  }

  /** Takes back what is there of lines that could not be kept, be it half a record; where that fails too, all is over. */
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

  /** A closed segment is on the disk whole, so that only the newest can ever have a torn end. */
  private finishSegment(): void {
    this.disk.sync(this.fd);
    // A sync under way in the thread pool still uses the descriptor; it closes it when it is done.
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
      this.options.log.error({ err: error }, "the journal cannot be synced; calls are refused");
    });
  }
}

/** UTF-8 takes at most three bytes for each UTF-16 unit; what surely fits need not be measured. */
function lineBytesMax(payload: string): number {
  const most = LINE_FRAME_BYTES + payload.length * 3;
  return most <= RECORD_BYTES_MAX ? most : LINE_FRAME_BYTES + Buffer.byteLength(payload);
}
