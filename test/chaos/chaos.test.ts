import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { packageRoot } from "../../core/root.ts";

const SHORT = ["--minutes", "0.15", "--seed", "7", "--clients", "8", "--kills-per-minute", "40"];
/** Of these none makes gateways read their wallets anew, which would heal what the bug has done. */
const UNHEALED = ["--only", "freeze redis", "--settle-seconds", "15"];
const GUARD = "if done then";

async function chaos(root: string, args: readonly string[]) {
  const program = join(root, "dist", "test", "chaos", "index.js");
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "exit");
  return { code, output };
}

/** Both at once: much of a run is waiting for leases to end. */
describe("a short run of chaos", { concurrency: true }, () => {
  it("finds nothing that is off", async () => {
    const { code, output } = await chaos(packageRoot, SHORT);
    assert.equal(code, 0, output);
    const whole = Number(/received whole \| (\d+)/.exec(output)?.[1]);
    assert.ok(whole > 10, output);
    assert.match(output, /\| — kill [a-z]+ \| [1-9]/);
  });

  it("finds out a post that is done twice", async () => {
    const copy = mkdtempSync(join(tmpdir(), "tollgate-buggy-"));
    try {
      for (const folder of ["core", "plugins", "config", "dist", "package.json"]) {
        cpSync(join(packageRoot, folder), join(copy, folder), { recursive: true });
      }
      symlinkSync(join(packageRoot, "node_modules"), join(copy, "node_modules"));
      const script = join(copy, "core", "hot", "lua", "post.lua");
      const source = readFileSync(script, "utf8");
      assert.equal(source.split(GUARD).length, 2, "the line that makes a post idempotent is there");
      writeFileSync(script, source.replace(GUARD, "if false then"));
      const { code, output } = await chaos(copy, [...SHORT, ...UNHEALED]);
      assert.equal(code, 1, output);
      assert.match(output, /broken: (?:redis and ledger agree|the outbox is empty)/);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});
