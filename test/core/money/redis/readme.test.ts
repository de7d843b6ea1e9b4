import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { BucketKeys } from "../../../../core/money/redis/keys.ts";
import { packageRoot } from "../../../../core/process/root.ts";

const folder = join(packageRoot, "core/money/redis");
const readme = readFileSync(join(folder, "README.md"), "utf8");

function scripts(): string {
  const lua = readdirSync(join(folder, "lua"));
  return lua.map((file) => readFileSync(join(folder, "lua", file), "utf8")).join("\n");
}

function found(pattern: RegExp): string[] {
  return [...new Set([...scripts().matchAll(pattern)].map(([, name = ""]) => name))];
}

t.test("the page on Redis lists every key of a bucket", async (t) => {
  const keys = new BucketKeys("tollgate", 7);
  const inEpoch = Object.values(keys.under("<e>", "<p>"));
  const fields = Object.values({ ...keys }).filter(
    (key): key is string => typeof key === "string" && key.startsWith(keys.base),
  );
  const named = [...fields, keys.revoked("<key>"), keys.call("<call>"), ...inEpoch]
    .map((key) => key.slice(keys.base.length))
    .filter((name) => name !== "");
  const inScripts = [
    ...found(/\bkey\('(\w+)'/g).map((name) => `<e>:${name}`),
    ...found(/base \.\. '(\w+)'/g),
  ];
  const all = new Set([...named, ...inScripts]);
  t.ok(all.size >= 13, `${all.size} keys`);
  t.strictSame(
    [...all].filter((key) => !readme.includes(`| \`${key}\` |`)),
    [],
  );
});

t.test("the page on Redis lists every field of a wallet and a purse", async (t) => {
  const fields = found(/'(:[a-z]{1,2})'/g);
  t.ok(fields.length >= 7, fields.join(" "));
  t.strictSame(
    fields.filter((field) => !readme.includes(`${field}\``)),
    [],
  );
});
