import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { FolderInUse, type FolderLock, lockFolder } from "../process/lock.ts";
import type { ServerMessage } from "./embedded-process.ts";

/**
 * The child process of the embedded ledger: PGlite on a data folder, reached through a unix socket. It
 * lives in a process of its own because it takes some 400 MB, and because a query would block the
 * gateway's event loop. Arguments: the folder, the path of the socket, how long to wait for the lock.
 */
const COMMITTING_PRIORITY = 10;
const [folder, socketPath, lockWaitMs] = process.argv.slice(2);

// Nobody else may read the files or open the socket.
process.umask(0o077);
// The parent is gone, however it went: exit at once, as a crash would. The write-ahead log is made for it.
process.on("disconnect", () => process.exit(0));
// It may have gone while this file was being loaded, and then nobody tells of it any more.
if (!process.connected) process.exit(0);
// The parent decides when to end: a Ctrl-C reaches the whole group, and the parent may still have to commit.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});

try {
  if (folder === undefined || socketPath === undefined) throw new Error("no folder given");
  await serve(folder, socketPath, Number(lockWaitMs));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  tell({ kind: error instanceof FolderInUse ? "in_use" : "failed", message }, () =>
    process.exit(1),
  );
}

async function serve(folder: string, path: string, waitMs: number): Promise<void> {
  const lock = await lockFolder(folder, waitMs);
  const db = await openDatabase(folder);
  failFast(db);
  // Left by a killed process; the lock says that nobody listens there any more.
  rmSync(path, { force: true });
  const server = new PGLiteSocketServer({ db, path, maxConnections: 8 });
  await server.start();
  // Committing may wait, calls may not: where the two share a core, calls go first, but not so much that a
  // busy gateway leaves its ledger no time at all.
  setPriority(COMMITTING_PRIORITY);
  process.on("message", (message) => {
    if (message === "stop") stop(server, db, lock);
  });
  tell({ kind: "ready" });
}

/** A mark stands beside a database that is being made, so that a kill half way leaves none that looks whole. */
async function openDatabase(folder: string): Promise<PGlite> {
  const path = join(folder, "postgres");
  const unfinished = join(folder, "postgres.unfinished");
  if (existsSync(unfinished)) rmSync(path, { recursive: true, force: true });
  if (existsSync(path)) return PGlite.create(path);
  writeFileSync(unfinished, "");
  const db = await PGlite.create(path);
  rmSync(unfinished);
  return db;
}

/**
 * Postgres answers a bad query with an error of the protocol; an exception is a fault of the WebAssembly
 * machine. The socket server would then never take another query, so the process ends and is restarted.
 */
function failFast(db: PGlite): void {
  const run = db.execProtocolRawStream.bind(db);
  db.execProtocolRawStream = async (message, options) => {
    try {
      return await run(message, options);
    } catch (error) {
      tell({ kind: "failed", message: String(error) }, () => process.exit(1));
      throw error;
    }
  };
}

function stop(server: PGLiteSocketServer, db: PGlite, lock: FolderLock): void {
  server
    .stop()
    .then(() => db.close())
    .then(() => lock.release())
    .finally(() => process.exit(0));
}

function tell(message: ServerMessage, sent: () => void = () => {}): void {
  if (process.send && process.connected) process.send(message, undefined, undefined, sent);
  else sent();
}
