import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { Worker } from "node:worker_threads";
import { type FolderLock, lockFolder } from "./lock.ts";

/** File access of the journals. Each method throws what its counterpart in `node:fs` throws. */
export interface Disk {
  lock(folder: string, waitMs: number): Promise<FolderLock>;
  exists(path: string): boolean;
  /** Returns the names in a folder, unordered. */
  list(folder: string): string[];
  read(path: string): Buffer;
  remove(path: string): void;
  /** Syncs a folder, so that files created and removed in it survive a power loss. */
  syncFolder(folder: string): void;
  /** Creates a file to append to, with mode 600. Returns its descriptor. */
  create(path: string): number;
  /** Opens an existing file, to truncate it. Returns its descriptor. */
  open(path: string): number;
  /** Appends up to `length` bytes. Returns how many it wrote. */
  write(fd: number, bytes: Uint8Array, offset: number, length: number): number;
  truncate(fd: number, length: number): void;
  sync(fd: number): void;
  /**
   * Syncs `folder`, if it is given, and then a file, in the background, one after the other in the order of the calls.
   * Calls `done` in a later turn. Close the file after that.
   */
  syncSoon(fd: number, done: (error: Error | null) => void, folder?: string): void;
  close(fd: number): void;
}

export const systemDisk: Disk = {
  lock: lockFolder,
  exists: existsSync,
  list: (folder) => readdirSync(folder),
  read: (path) => readFileSync(path),
  remove: unlinkSync,
  syncFolder,
  create: (path) => openSync(path, "ax", 0o600),
  open: (path) => openSync(path, "r+"),
  write: writeSync,
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  syncSoon: syncInThread,
  close: closeSync,
};

export function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

type Done = (error: Error | null) => void;

/** Memory limits of a thread that only waits for the disk. */
const MEMORY = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };

let thread: Worker | undefined;
/** The callbacks of the syncs that the thread has not answered, in the order of its work. */
let waiting: Done[] = [];

/**
 * Syncs `folder`, if it is given, and then a file, in a thread of their own: a slow disk stops neither the event loop
 * nor the work of libuv's pool, such as the hash of a password. Calls `done` in a later turn.
 */
export function syncInThread(fd: number, done: Done, folder?: string): void {
  try {
    thread ??= begin();
    thread.postMessage({ fd, folder });
    waiting.push(done);
    thread.ref();
  } catch (error) {
    setImmediate(done, new Error("cannot start the thread that syncs files", { cause: error }));
  }
}

function begin(): Worker {
  const worker = new Worker(new URL("./sync-worker.js", import.meta.url), {
    resourceLimits: MEMORY,
  });
  worker.on("message", (error: Error | null) => {
    waiting.shift()?.(error);
    if (waiting.length === 0) worker.unref();
  });
  // Whether its syncs have reached the disk is unknown. The next one starts another thread.
  worker.on("error", (cause) => {
    const left = waiting;
    [thread, waiting] = [undefined, []];
    for (const done of left) done(new Error("the thread that syncs files broke", { cause }));
  });
  return worker;
}
