import { basename, dirname } from "node:path";
import type { Disk } from "../../core/process/disk.ts";
import { FolderInUse, type FolderLock } from "../../core/process/lock.ts";
import { type Machine, sleep } from "../../core/process/machine.ts";
import type { Random } from "../support/random.ts";
import type { SimulatedProcess } from "./process.ts";

const LOCK_RETRY_MS = 50;
const SYNC_MS_MAX = 8;

interface Range {
  readonly from: number;
  readonly to: number;
}

interface File {
  bytes: Buffer;
  length: number;
  /** Bytes that the kernel takes for synced. They survive a loss of power, except for `lost`. */
  syncedLength: number;
  /** Ranges that a failed sync did not write. Until power is lost they can be read, but no later sync writes them. */
  lost: readonly Range[];
  /** True if the name survives a loss of power. */
  isNameSynced: boolean;
}

/** The disk of one host. It outlives its processes. */
export class SimulatedDisk {
  private readonly files = new Map<string, File>();
  private readonly holders = new Map<string, SimulatedProcess>();
  /** Free bytes; writes beyond them fail with ENOSPC. */
  freeBytes = Number.POSITIVE_INFINITY;
  /** How much longer each sync in the background takes, ms. */
  slowMs = 0;
  private failsSyncs = false;
  /** Times in which syncs failed; the last of them may still be going on. */
  private readonly failures: { readonly fromMs: number; toMs: number }[] = [];

  constructor(private readonly random: Random) {}

  /** Returns the disk as one process sees it. */
  of(process: SimulatedProcess): ProcessDisk {
    return new ProcessDisk(this, process);
  }

  find(path: string): File | undefined {
    return this.files.get(path);
  }

  add(path: string): File {
    if (this.files.has(path)) throw failure("EEXIST", path);
    const file = {
      bytes: Buffer.alloc(4_096),
      length: 0,
      syncedLength: 0,
      lost: [],
      isNameSynced: false,
    };
    this.files.set(path, file);
    return file;
  }

  remove(path: string): void {
    const file = this.files.get(path);
    if (file === undefined) throw failure("ENOENT", path);
    this.files.delete(path);
    this.freeBytes += file.length;
  }

  names(folder: string): string[] {
    return [...this.files.keys()]
      .filter((path) => dirname(path) === folder)
      .map((path) => basename(path));
  }

  hasFolder(folder: string): boolean {
    return this.holders.has(folder) || this.names(folder).length > 0;
  }

  take(folder: string, process: SimulatedProcess): boolean {
    const holder = this.holders.get(folder);
    if (holder?.alive && holder !== process) return false;
    this.holders.set(folder, process);
    return true;
  }

  release(folder: string, process: SimulatedProcess): void {
    if (this.holders.get(folder) === process) this.holders.delete(folder);
  }

  /** Ends a full disk. */
  empty(): void {
    this.freeBytes = Number.POSITIVE_INFINITY;
  }

  /** Syncs fail with EIO, and the kernel drops what they should have written. */
  failSyncs(nowMs: number): void {
    if (this.failsSyncs) return;
    this.failsSyncs = true;
    this.failures.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
  }

  endFailedSyncs(nowMs: number): void {
    const last = this.failures.at(-1);
    if (this.failsSyncs && last) last.toMs = nowMs;
    this.failsSyncs = false;
  }

  /** Returns the start of the first `ms` after `fromMs` in which no sync failed. */
  worksFrom(fromMs: number, ms: number): number {
    return this.failures.reduce(
      (at, failure) => (failure.fromMs <= at + ms && failure.toMs >= at ? failure.toMs : at),
      fromMs,
    );
  }

  /** Syncs what a file had when the sync began: its first `length` bytes. Returns true if that succeeds. */
  sync(file: File, length: number): boolean {
    const from = file.syncedLength;
    // It may have been cut since.
    const to = Math.min(length, file.length);
    file.syncedLength = Math.max(from, to);
    if (!this.failsSyncs) return true;
    // Linux reports a failed write of a page once, and takes the page for clean from then on.
    if (from < to) file.lost = [...file.lost, { from, to }];
    return false;
  }

  syncNames(folder: string): boolean {
    if (this.failsSyncs) return false;
    for (const [path, file] of this.files) if (dirname(path) === folder) file.isNameSynced = true;
    return true;
  }

  /** Drops some data that was not synced: the last bytes of a file, torn anywhere, or its name. */
  losePower(): void {
    for (const [path, file] of this.files) {
      if (!file.isNameSynced && this.random.chance(0.5)) {
        this.files.delete(path);
        continue;
      }
      const unsynced = file.length - file.syncedLength;
      if (unsynced > 0) file.length = file.syncedLength + this.random.below(unsynced + 1);
      for (const { from, to } of file.lost) {
        // The file system may or may not have written the new length of the file.
        if (to >= file.length && this.random.chance(0.5)) file.length = Math.min(file.length, from);
        else file.bytes.fill(0, from, to);
      }
      file.lost = [];
      file.syncedLength = file.length;
      file.isNameSynced = true;
    }
  }
}

/** The disk as a process sees it. After the death of the process nothing more is written. */
export class ProcessDisk implements Disk {
  private readonly descriptors = new Map<number, { path: string; file: File }>();
  private nextDescriptor = 3;
  /** When the disk last refused a file, a write or a sync. */
  refusedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly disk: SimulatedDisk,
    private readonly process: SimulatedProcess,
  ) {}

  async lock(folder: string, waitMs: number): Promise<FolderLock> {
    const machine: Machine = this.process;
    const deadlineMs = machine.monotonic() + waitMs;
    while (!this.disk.take(folder, this.process)) {
      if (machine.monotonic() >= deadlineMs) throw new FolderInUse(folder, "another process");
      await sleep(machine, LOCK_RETRY_MS);
    }
    return {
      release: async () => this.disk.release(folder, this.process),
    };
  }

  exists(path: string): boolean {
    return this.disk.find(path) !== undefined || this.disk.hasFolder(path);
  }

  list(folder: string): string[] {
    return this.disk.names(folder);
  }

  read(path: string): Buffer {
    const file = this.disk.find(path);
    if (file === undefined) throw failure("ENOENT", path);
    return Buffer.from(file.bytes.subarray(0, file.length));
  }

  remove(path: string): void {
    this.mustLive();
    this.disk.remove(path);
  }

  syncFolder(folder: string): void {
    this.mustLive();
    if (!this.disk.syncNames(folder)) throw this.refused("EIO", folder);
  }

  create(path: string): number {
    this.mustLive();
    if (this.disk.freeBytes <= 0) throw this.refused("ENOSPC", path);
    return this.describe(path, this.disk.add(path));
  }

  open(path: string): number {
    const file = this.disk.find(path);
    if (file === undefined) throw failure("ENOENT", path);
    return this.describe(path, file);
  }

  write(fd: number, bytes: Uint8Array, offset: number, length: number): number {
    this.mustLive();
    const { path, file } = this.at(fd);
    const fits = Math.min(length, Math.max(0, this.disk.freeBytes));
    if (fits === 0 && length > 0) throw this.refused("ENOSPC", path);
    if (file.bytes.length < file.length + fits) {
      const grown = Buffer.alloc(2 * (file.length + fits));
      grown.set(file.bytes.subarray(0, file.length));
      file.bytes = grown;
    }
    file.bytes.set(bytes.subarray(offset, offset + fits), file.length);
    file.length += fits;
    this.disk.freeBytes -= fits;
    return fits;
  }

  truncate(fd: number, length: number): void {
    this.mustLive();
    const { file } = this.at(fd);
    this.disk.freeBytes += file.length - length;
    file.length = length;
    file.lost = file.lost
      .filter(({ from }) => from < length)
      .map(({ from, to }) => ({ from, to: Math.min(to, length) }));
    file.syncedLength = Math.min(file.syncedLength, length);
  }

  sync(fd: number): void {
    this.mustLive();
    const { path, file } = this.at(fd);
    if (!this.disk.sync(file, file.length)) throw this.refused("EIO", path);
  }

  syncSoon(fd: number, done: (error: Error | null) => void, folder?: string): void {
    const { path, file } = this.at(fd);
    const ms = 1 + (fd % SYNC_MS_MAX) + this.disk.slowMs;
    const { length } = file;
    this.process.receive(ms, "synced", () => {
      const hasName = folder === undefined || this.disk.syncNames(folder);
      done(hasName && this.disk.sync(file, length) ? null : this.refused("EIO", path));
    });
  }

  close(fd: number): void {
    this.at(fd);
    this.descriptors.delete(fd);
  }

  private describe(path: string, file: File): number {
    this.nextDescriptor += 1;
    this.descriptors.set(this.nextDescriptor, { path, file });
    return this.nextDescriptor;
  }

  private at(fd: number): { path: string; file: File } {
    const open = this.descriptors.get(fd);
    if (open === undefined) throw failure("EBADF", `descriptor ${fd}`);
    return open;
  }

  private refused(code: string, path: string): Error {
    this.refusedMs = this.process.monotonic();
    return failure(code, path);
  }

  private mustLive(): void {
    if (!this.process.alive) throw new Error(`${this.process.name} is dead`);
  }
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
