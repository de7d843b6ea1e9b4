import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FolderInUse, lockFolder, shortSocketPath } from "../../../core/process/lock.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-lock-"));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A socket file as a process leaves it that was killed while it held the lock. */
async function leaveDeadLock(folder: string): Promise<void> {
  const program = `require("node:net").createServer().listen(${JSON.stringify(join(folder, "lock"))},
    () => process.kill(process.pid, "SIGKILL"))`;
  await once(spawn(process.execPath, ["-e", program], { stdio: "ignore" }), "close");
  assert.ok(existsSync(join(folder, "lock")));
}

test("one of many takes a lock, also where a killed process has left it", () =>
  inFolder(async (folder) => {
    for (const dead of [false, true]) {
      if (dead) await leaveDeadLock(folder);
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, () => lockFolder(folder, 200)),
      );
      const taken = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      assert.equal(taken.length, 1);
      for (const one of results) {
        if (one.status === "rejected") assert.ok(one.reason instanceof FolderInUse);
      }
      await taken[0]?.release();
    }
  }));

test("who waits gets the lock once it is given up", () =>
  inFolder(async (folder) => {
    const first = await lockFolder(folder, 0);
    const second = lockFolder(folder, 10_000);
    await first.release();
    await (await second).release();
  }));

test("a path that fits stays where it is, a longer one is short and always the same", () => {
  assert.equal(shortSocketPath("/data", "lock"), "/data/lock");
  const deep = `/${"x".repeat(120)}`;
  assert.ok(shortSocketPath(deep, "lock").length <= 100);
  assert.equal(shortSocketPath(deep, "lock"), shortSocketPath(deep, "lock"));
  assert.notEqual(shortSocketPath(deep, "lock"), shortSocketPath(deep, "socket"));
});
