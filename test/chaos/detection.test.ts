import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { chaosUntil } from "./chaos-process.ts";

/** Freezing Redis makes no gateway reload its wallets, which would hide the bug. */
const UNHEALED = ["--only", "freeze redis", "--recovery-seconds", "15"];
const GUARD = "if done then";

t.test("chaos detects a build that posts twice", async (t) => {
  const copy = mkdtempSync(join(tmpdir(), "tollgate-buggy-"));
  try {
    for (const folder of ["core", "plugins", "config", "dist", "package.json"]) {
      cpSync(join(packageRoot, folder), join(copy, folder), { recursive: true });
    }
    symlinkSync(join(packageRoot, "node_modules"), join(copy, "node_modules"));
    const script = join(copy, "core", "money", "redis", "lua", "post.lua");
    const source = readFileSync(script, "utf8");
    t.equal(source.split(GUARD).length, 2, "post.lua has the line that makes a post idempotent");
    writeFileSync(script, source.replace(GUARD, "if false then"));
    const { code, output, report } = await chaosUntil(copy, UNHEALED, ({ code }) => code !== 0);
    t.equal(code, 1, report);
    t.match(output, /broken: (?:redis and ledger agree|the outbox is empty)/);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});
