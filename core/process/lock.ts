import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, realpathSync, statSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A socket's path must fit into 104 bytes on macOS and 108 on Linux, its closing zero included. */
const SOCKET_PATH_BYTES_MAX = 100;
const RETRY_MS = 50;
const ANSWER_TIMEOUT_MS = 500;
/** Longer than two processes can be apart that remove the same dead lock at the same moment. */
const CONTEST_MS = 20;

export interface FolderLock {
  release(): Promise<void>;
}

/** The folder is used by another process that is alive. */
export class FolderInUse extends Error {
  constructor(folder: string, holder: string) {
    super(
      `${folder} is in use by ${holder}: stop that one first, or give this one a folder of its own`,
    );
    this.name = "FolderInUse";
  }
}

/**
 * Takes a folder for this process alone, creating it with mode 700. The lock is a listening unix
 * socket, because the kernel closes it however the process ends: a lock left by a kill -9 refuses
 * connections and is taken over. Waits up to `waitMs` for the holder to go, then throws FolderInUse.
 */
export async function lockFolder(folder: string, waitMs: number): Promise<FolderLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = shortSocketPath(realpathSync(folder), "lock");
  const token = `${process.pid} ${randomUUID()}`;
  const deadline = performance.now() + waitMs;
  for (;;) {
    const server = await listen(path, token);
    if (server) {
      await delay(CONTEST_MS);
      if ((await ask(path)) === token) return { release: () => close(server) };
      // Closing it would remove the winner's socket file. Nobody can reach this one: it is left to the exit.
    }
    const inode = inodeOf(path);
    const holder = await ask(path);
    if (holder === undefined && inode !== undefined && inode === inodeOf(path)) unlink(path);
    else if (performance.now() >= deadline) throw new FolderInUse(folder, describe(holder));
    await delay(RETRY_MS);
  }
}

/** `<folder>/<name>`, or a path of fixed length in the temporary folder where that is too long for a socket. */
export function shortSocketPath(folder: string, name: string): string {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path;
  return join(tmpdir(), `tollgate-${createHash("sha256").update(path).digest("hex").slice(0, 24)}`);
}

/** A server that tells everyone who holds the lock; undefined where the path is taken. */
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

/** The holder's token; "" where it does not answer (it may be stopped); undefined where nobody listens. */
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

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function unlink(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    // Another process may have taken the dead lock away first; the next attempt tells who holds it now.
    if (inodeOf(path) !== undefined) throw error;
  }
}
