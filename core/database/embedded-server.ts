import { existsSync, rmSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { FolderInUse, type FolderLock, lockFolder } from "../process/lock.ts";
import { messageOf } from "../process/thrown.ts";
import type { ServerMessage } from "./embedded-process.ts";

/**
 * The child process of the embedded ledger: PGlite on a data folder, behind a unix socket. A
 * process of its own, because it takes about 400 MB and a query would block the gateway's event
 * loop. Arguments: the folder, the path of the socket, how long to wait for the lock.
 */
const COMMITTING_PRIORITY = 10;
/**
 * How many bytes of a WebAssembly function run before V8 optimizes it. With the 1.8 million of Node 20, a start takes
 * 1.2 s of processor time, with this 0.8 s; 4,000 queries take 2.9 and 2.5 s. V8 ignores the flag if it does not know it.
 */
const OPTIMIZE_AFTER_BYTES = 50_000_000;
const [folder, socketPath, lockWaitMs] = process.argv.slice(2);

setFlagsFromString(`--wasm-tiering-budget=${OPTIMIZE_AFTER_BYTES}`);

// Only this user may read the files and open the socket.
process.umask(0o077);
// The parent has exited: exit at once. The write-ahead log covers it, as after a crash.
process.on("disconnect", () => process.exit(0));
// The parent may have exited while this file was loading; then there is no event.
if (!process.connected) process.exit(0);
// The parent decides when to stop: Ctrl-C reaches both processes, and the parent may still have to
// commit.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});

try {
  if (folder === undefined || socketPath === undefined) throw new Error("no folder given");
  await serve(folder, socketPath, Number(lockWaitMs));
} catch (error) {
  const message = messageOf(error);
  tell({ kind: error instanceof FolderInUse ? "in_use" : "failed", message }, () =>
    process.exit(1),
  );
}

async function serve(folder: string, path: string, waitMs: number): Promise<void> {
  const lock = await lockFolder(folder, waitMs);
  const db = await openDatabase(folder);
  failFast(db);
  // A killed process leaves its socket. With the lock held, no process listens on it.
  rmSync(path, { force: true });
  const server = new PGLiteSocketServer({ db, path, maxConnections: 8 });
  await server.start();
  // Commits can wait, calls cannot: if both share a core, calls go first. If the ledger falls
  // behind, the gateway delays new calls, which leaves it the core. A higher priority for it then
  // would need root, and makes calls slower.
  setPriority(COMMITTING_PRIORITY);
  process.on("message", (message) => {
    if (message === "stop") stop(server, db, lock);
  });
  tell({ kind: "ready" });
}

/**
 * Opens the database, or creates it. A marker file exists until it is complete, so a kill on the
 * way does not leave a partial database that looks complete.
 */
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
 * A bad query gets an error of the protocol. An exception is a failure of the WebAssembly machine:
 * the socket server would never take another query, so the process exits and is restarted.
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
