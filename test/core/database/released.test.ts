import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";

/** As `sha256sum` prints them: the migrations that a version was released with. */
const released = readFileSync(join(packageRoot, "test/core/database/released.sha256"), "utf8")
  .trim()
  .split("\n");
const files = released.map((line) => line.slice(66));

t.test("released migrations are as they were released", async (t) => {
  t.ok(files.includes("core/database/migrations/0001-accounts.sql"));
  const now = files.map((file) => {
    const sum = createHash("sha256").update(readFileSync(join(packageRoot, file)));
    return `${sum.digest("hex")}  ${file}`;
  });
  t.strictSame(now, released, "put the change in a new file");
});

t.test("later migrations follow the released ones", async (t) => {
  for (const folder of new Set(files.map(dirname))) {
    const all = readdirSync(join(packageRoot, folder)).filter((name) => name.endsWith(".sql"));
    const before = files.filter((file) => dirname(file) === folder).map((file) => basename(file));
    t.strictSame(all.sort().slice(0, before.length), before, folder);
  }
});
