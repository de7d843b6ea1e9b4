import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, realpathSync, statSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A socket path may have 104 bytes on macOS and 108 on Linux, including the closing zero. */
const SOCKET_PATH_BYTES_MAX = 100;
const RETRY_MS = 50;
const ANSWER_TIMEOUT_MS = 500;
/** Wait before checking who won: another process may just have removed this socket as the stale one. */
const CONTEST_MS = 20;

export interface FolderLock {
  release(): Promise<void>;
}

/** Another process that is alive uses the folder. */
export class FolderInUse extends Error {
  constructor(folder: string, holder: string) {
    super(`${folder} is in use by ${holder}; stop it first, or give this process another folder`);
    this.name = "FolderInUse";
  }
}

/**
 * Locks a folder for this process; creates it with mode 700 if it is missing. The lock is a listening unix socket,
 * because the kernel closes it however the process ends. The socket that a kill -9 leaves behind refuses
 * connections, so it is taken over. Waits up to `waitMs` for the holder to exit, then throws FolderInUse.
 */
export async function lockFolder(folder: string, waitMs: number): Promise<FolderLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = shortSocketPath(realpathSync(folder), "lock");
  const token = `${process.pid} ${randomUUID()}`;
  const deadline = performance.now() + waitMs;
  let own: Server | undefined;
  for (;;) {
    const server = await listen(path, token);
    if (server) {
      // If another process wins, the server stays open, unreachable, until this process exits: closing it would remove
      // the winner's socket file.
      own = server;
      await delay(CONTEST_MS);
    }
    const inode = inodeOf(path);
    const holder = await ask(path);
    // Maybe later than at the first question: a process that starts may be too busy to reply to itself.
    if (own && holder === token) {
      const held = own;
      return { release: () => new Promise((resolve) => held.close(() => resolve())) };
    }
    if (holder === undefined && inode !== undefined && inode === inodeOf(path)) unlink(path);
    else if (performance.now() >= deadline) throw new FolderInUse(folder, describe(holder));
    await delay(RETRY_MS);
  }
}

/** Returns `<folder>/<name>`, or a hashed path in the temporary folder if that is too long for a socket. */
export function shortSocketPath(folder: string, name: string): string {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path;
  return join(tmpdir(), `tollgate-${createHash("sha256").update(path).digest("hex").slice(0, 24)}`);
}

/** Starts a server that sends the holder's token to each client. Returns undefined if the path is taken. */
function listen(path: string, token: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.end(token);
    });
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Returns the holder's token, "" if it does not reply (it may be suspended), or undefined if no process listens. */
function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = "";
    let connected = false;
    const socket = connect(path, () => {
      connected = true;
    });
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(connected ? answer : undefined);
    };
    const timer = setTimeout(() => {
      connected = true;
      finish();
    }, ANSWER_TIMEOUT_MS);
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      answer += text;
    });
    socket.on("end", finish);
    socket.on("error", finish);
  });
}

function describe(holder: string | undefined): string {
  const pid = holder?.split(" ")[0];
  return pid ? `process ${pid}` : "another process";
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function unlink(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    // Another process may have removed the stale lock first; the next attempt finds the new holder.
    if (inodeOf(path) !== undefined) throw error;
  }
}
