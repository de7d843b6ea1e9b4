import { execFileSync } from "node:child_process";
import {
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { syncFolder } from "../process/disk.ts";
import { ended, type PostgresBuild, runProgram, type SystemUser } from "./postgres-build.ts";

const QUIT_MS = 10_000;
const POLL_MS = 20;

/** Returns the folder of the database's files inside the ledger's folder. */
export function filesOf(folder: string): string {
  return join(folder, "postgres");
}

/**
 * Creates the database's files, if they are missing, and gives them to `user`. They appear under their name when all of
 * them are on the disk: a kill or a loss of power before leaves a folder that the next start deletes.
 */
export async function createFiles(
  build: PostgresBuild,
  folder: string,
  user: SystemUser | undefined,
  wrapper?: readonly string[],
): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(NEW)) rmSync(join(folder, name), { ...EVERYTHING, maxRetries: 5 });
  }
  const files = filesOf(folder);
  if (!existsSync(files)) {
    const made = mkdtempSync(join(folder, NEW));
    // The programs of Postgres demand a name of their user only here.
    const named = user && namedUser(user);
    if (named) give(made, named);
    await ended(runProgram(build, "initdb", ["-D", made, ...INITDB], { user: named, wrapper }));
    if (user) give(made, user);
    renameSync(made, files);
    // And the folders around it, which may be as new.
    for (const each of [folder, dirname(folder), dirname(dirname(folder))]) syncIfReadable(each);
  }
  // Also a copy of the files that root has made.
  if (user && statSync(files).uid === 0) give(files, user);
  const major = readFileSync(join(files, "PG_VERSION"), "utf8").trim();
  if (major !== build.major) {
    throw new Error(
      `${files} is of Postgres ${major}, and this build has ${build.major}. Start the build that made it, and move the ` +
        `ledger to a Postgres server (stores.ledger) with pg_dump of Postgres ${major} or later`,
    );
  }
}

const NEW = "postgres.new-";
const EVERYTHING = { recursive: true, force: true } as const;
/** It syncs all files in the end. */
const INITDB = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums"];

/** Users for a database whose gateway is root, if no other user owns its folder. */
const USERS = ["postgres", "nobody"];

/**
 * Returns the user that the database runs as: the owner of its files or of the data folder, else one of `USERS`.
 * Undefined if this process is not root: then both run as the same user.
 */
export function databaseUser(folder: string): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const path of [filesOf(folder), dirname(folder)]) {
    const owner = statSync(path, { throwIfNoEntry: false });
    if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  return namedUser();
}

function namedUser(user?: SystemUser): SystemUser {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  const users = lines.map((line) => line.split(":"));
  const found =
    users.find(([, , uid]) => user && Number(uid) === user.uid) ??
    USERS.map((name) => users.find((user) => user[0] === name)).find(Boolean);
  const [, , uid, gid] = found ?? [];
  if (uid === undefined || gid === undefined) {
    throw new Error("Postgres refuses to run as root; create a user named postgres");
  }
  return { uid: Number(uid), gid: Number(gid) };
}

function give(folder: string, { uid, gid }: SystemUser): void {
  lchownSync(folder, uid, gid);
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    lchownSync(join(folder, file), uid, gid);
  }
}

function syncIfReadable(folder: string): void {
  try {
    syncFolder(folder);
  } catch (error) {
    // A folder above that this user may pass, but not read.
    if (!(error instanceof Error && "syscall" in error && error.syscall === "open")) throw error;
  }
}

/**
 * Ends a server that a killed gateway left behind in this folder. Returns the variables that the next one needs: if the
 * process id in the file of the last one belongs to another program today, Postgres would take that for a server. Only
 * for the holder of the folder's lock.
 */
export async function endLeftover(files: string): Promise<Readonly<Record<string, string>>> {
  const pid = serverPid(files);
  if (pid === undefined || !send(pid, 0)) return {};
  const deadline = performance.now() + QUIT_MS;
  for (let signal: NodeJS.Signals = "SIGQUIT"; isServerOf(pid, files); await delay(POLL_MS)) {
    if (performance.now() > deadline) signal = "SIGKILL";
    send(pid, signal);
  }
  // Postgres ignores a file with the process id of its own grandparent.
  return send(pid, 0) ? { PG_GRANDPARENT_PID: String(pid) } : {};
}

function serverPid(files: string): number | undefined {
  const path = join(files, "postmaster.pid");
  if (!existsSync(path)) return undefined;
  const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
  return pid > 0 ? pid : undefined;
}

/** A server works in the folder of its files. */
function isServerOf(pid: number, files: string): boolean {
  try {
    if (existsSync("/proc/self/cwd")) return readlinkSync(`/proc/${pid}/cwd`) === files;
    const command = execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
    return command.includes(files);
  } catch {
    // It has ended.
    return false;
  }
}

/** Returns false if there is no such process. The signal 0 only asks. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
