import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEGABYTES = 16;
const BALLAST = "ballast";
const CHUNK_BYTES = 64 * 1024;

/** A folder on a file system of its own, in memory, that can be filled. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no byte free. */
  fill(): void;
  empty(): void;
  close(): void;
}

/** Mounts a small disk. Returns the reason if this user is not allowed to mount. */
export function mountSmallDisk(): SmallDisk | string {
  if (process.getuid?.() !== 0) return "only root may mount a small disk";
  const folder = mkdtempSync(join(tmpdir(), "tollgate-disk-"));
  try {
    const options = ["-t", "tmpfs", "-o", `size=${MEGABYTES}m,mode=0700`, "tollgate-chaos", folder];
    execFileSync("mount", options, { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return `cannot mount a small disk: ${error instanceof Error ? error.message : error}`;
  }
  // Unmounts even if this process is killed: its stdin closes then.
  const script = 'read -r line; umount -l "$1"; rmdir "$1"';
  const guard = spawn("sh", ["-c", script, "sh", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  const ballast = join(folder, BALLAST);
  return {
    folder,
    fill() {
      const fd = openSync(ballast, "a");
      try {
        for (let bytes = CHUNK_BYTES; bytes >= 1; ) {
          if (!hasWritten(fd, bytes)) bytes = Math.floor(bytes / 2);
        }
      } finally {
        closeSync(fd);
      }
      if (statfsSync(folder).bavail > 0) throw new Error(`${folder} still has room`);
    },
    empty: () => rmSync(ballast, { force: true }),
    close: () => guard.stdin.end(),
  };
}

function hasWritten(fd: number, bytes: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(bytes)) > 0;
  } catch {
    return false;
  }
}
