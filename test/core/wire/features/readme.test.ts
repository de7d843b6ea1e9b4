import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../../core/catalogue/features.ts";
import { packageRoot } from "../../../../core/process/root.ts";
import { FIELDS } from "../../../../core/wire/features/table.ts";

const README = readFileSync(join(packageRoot, "core/wire/features/README.md"), "utf8");
const rows = README.split("\n").filter((line) => /^\| (?:`|\(never)/.test(line));
const RULES = { hint: "left out", optional: "named", demand: "refused" };

t.test("the README's table of features", async (t) => {
  t.test("has a row for each feature that a config can allow", async (t) => {
    for (const [name, facts] of Object.entries(FEATURES)) {
      const row = rows.find((line) => line.startsWith(`| \`${name}\` |`));
      t.ok(row, name);
      t.equal(row?.includes("shared ids"), "sharesIds" in facts, name);
    }
  });

  t.test("names each field with its rule", async (t) => {
    for (const { field, feature, rule } of FIELDS) {
      const start = feature === undefined ? "| (never sold)" : `| \`${feature}\``;
      const row = rows.find((line) => line.startsWith(start) && line.includes(`\`${field}`));
      t.ok(row?.includes(`| ${RULES[rule]}`), `${field}: ${row}`);
    }
  });
});
