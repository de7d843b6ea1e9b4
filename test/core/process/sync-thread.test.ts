import { execFileSync } from "node:child_process";
import { closeSync, open, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { syncInThread } from "../../../core/process/disk.ts";

/** The threads of libuv's pool, on which files, names and hashes of passwords are worked at. */
const POOL = Number(process.env.UV_THREADPOOL_SIZE ?? 4);

function synced(fd: number, folder?: string): Promise<Error | null> {
  return new Promise((resolve) => syncInThread(fd, resolve, folder));
}

t.test("syncs files in their order, and says which of them failed", async (t) => {
  const folder = t.testdir();
  const fd = openSync(join(folder, "file"), "w");
  writeFileSync(fd, "text");
  const results = await Promise.all([
    synced(fd, folder),
    synced(1_000_000),
    synced(fd),
    synced(fd, join(folder, "missing")),
  ]);
  t.match(results, [null, /EBADF/, null, /ENOENT/]);
  closeSync(fd);
});

t.test("syncs while every thread of libuv's pool waits", async (t) => {
  const folder = t.testdir();
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  // Opening a pipe to read blocks a thread until it has a writer.
  const opened = Array.from({ length: POOL }, () => promisify(open)(pipe, "r"));
  const fd = openSync(join(folder, "file"), "w");
  t.equal(await synced(fd), null);
  const writer = openSync(pipe, "r+");
  for (const reader of await Promise.all(opened)) closeSync(reader);
  closeSync(writer);
  closeSync(fd);
});
