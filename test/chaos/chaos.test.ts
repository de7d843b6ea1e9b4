import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import { chaosUntil, type Run } from "./chaos-process.ts";

/** Freezing Redis makes no gateway reload its wallets, which would hide the bug. */
const UNHEALED = ["--only", "freeze redis", "--recovery-seconds", "15"];
const GUARD = "if done then";

t.test("a short run of chaos", { jobs: 16 }, async (t) => {
  for (const [store, args] of [
    ["one Redis", []],
    ["a cluster", ["--cluster"]],
  ] as const) {
    t.test(`finds no violation on ${store}`, async (t) => {
      const isHarmed = ({ output }: Run) =>
        Number(/received whole \| (\d+)/.exec(output)?.[1]) > 10 &&
        /\| — (?:kill|freeze|fail over|migrate|wipe|lose)[^|]* \| [1-9]/.test(output);
      const run = await chaosUntil(packageRoot, args, (run) => run.code !== 0 || isHarmed(run));
      t.equal(run.code, 0, run.report);
      t.ok(isHarmed(run), run.report);
    });
  }

  t.test("detects a build that posts twice", async (t) => {
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
});
