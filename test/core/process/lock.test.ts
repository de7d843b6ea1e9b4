import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { FolderInUse, lockFolder, shortSocketPath } from "../../../core/process/lock.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-lock-"));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Leaves a socket file, as a process killed with the lock would. */
async function leaveDeadLock(folder: string): Promise<void> {
  const program = `require("node:net").createServer().listen(${JSON.stringify(join(folder, "lock"))},
    () => process.kill(process.pid, "SIGKILL"))`;
  await once(spawn(process.execPath, ["-e", program], { stdio: "ignore" }), "close");
  assert.ok(existsSync(join(folder, "lock")));
}

t.test("one of many takes a lock, even if a killed process has left it", async (t) =>
  inFolder(async (folder) => {
    for (const dead of [false, true]) {
      if (dead) await leaveDeadLock(folder);
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, () => lockFolder(folder, 3_000)),
      );
      const taken = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      t.equal(taken.length, 1);
      for (const one of results) {
        if (one.status === "rejected") t.ok(one.reason instanceof FolderInUse);
      }
      await taken[0]?.release();
    }
  }),
);

t.test("a process that is too busy to reply to itself gets the lock a little later", async () =>
  inFolder(async (folder) => {
    // Longer than it waits for a reply: it asks its own server in this thread.
    const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    const blocking = setInterval(block, 1);
    const locking = lockFolder(folder, 60_000);
    setTimeout(() => clearInterval(blocking), 2_500);
    await (await locking).release();
    await (await lockFolder(folder, 60_000)).release();
  }),
);

t.test("a waiting process gets the lock once it is released", async () =>
  inFolder(async (folder) => {
    const first = await lockFolder(folder, 0);
    const second = lockFolder(folder, 10_000);
    await first.release();
    await (await second).release();
  }),
);

t.test(
  "a path that fits is unchanged; a longer one maps to the same short path every time",
  async (t) => {
    t.equal(shortSocketPath("/data", "lock"), "/data/lock");
    const deep = `/${"x".repeat(120)}`;
    t.ok(shortSocketPath(deep, "lock").length <= 100);
    t.equal(shortSocketPath(deep, "lock"), shortSocketPath(deep, "lock"));
    t.not(shortSocketPath(deep, "lock"), shortSocketPath(deep, "socket"));
  },
);
