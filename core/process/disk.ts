import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { type FolderLock, lockFolder } from "./lock.ts";

/** The files that journals are made of. Each method throws as its counterpart of `node:fs` does. */
export interface Disk {
  /** As `lockFolder`. */
  lock(folder: string, waitMs: number): Promise<FolderLock>;
  exists(path: string): boolean;
  /** Names in a folder, in no order. */
  list(folder: string): string[];
  read(path: string): Buffer;
  remove(path: string): void;
  /** Makes the names in a folder survive a loss of power. */
  syncFolder(folder: string): void;
  /** A new file to append to, with mode 600. */
  create(path: string): number;
  /** An existing file, to be cut. */
  open(path: string): number;
  /** Appends up to `length` bytes, and returns how many. */
  write(fd: number, bytes: Uint8Array, offset: number, length: number): number;
  truncate(fd: number, length: number): void;
  sync(fd: number): void;
  /** Syncs in the background. */
  syncSoon(fd: number, done: (error: Error | null) => void): void;
  close(fd: number): void;
}

export const systemDisk: Disk = {
  lock: lockFolder,
  exists: existsSync,
  list: (folder) => readdirSync(folder),
  read: (path) => readFileSync(path),
  remove: unlinkSync,
  syncFolder(folder) {
    const fd = openSync(folder, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  create: (path) => openSync(path, "ax", 0o600),
  open: (path) => openSync(path, "r+"),
  write: writeSync,
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  syncSoon: fdatasync,
  close: closeSync,
};
