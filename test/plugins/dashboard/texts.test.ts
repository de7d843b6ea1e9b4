import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { packageRoot } from "../../../core/process/root.ts";
import { text as english } from "../../../plugins/dashboard/browser/text-en.ts";
import { text as vietnamese } from "../../../plugins/dashboard/browser/text-vi.ts";
import { csvColumns } from "../../../plugins/dashboard/csv.ts";

const folder = join(packageRoot, "plugins/dashboard/browser");
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.startsWith("text-"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("\n");
const document = readFileSync(join(packageRoot, "plugins/dashboard/document.ts"), "utf8");

describe("the texts of the pages", () => {
  const keys = Object.keys(english);

  it("are the same in both languages, and none is empty", () => {
    assert.ok(keys.length > 300, `${keys.length} texts`);
    assert.deepEqual(Object.keys(vietnamese).sort(), [...keys].sort());
    for (const [key, text] of [...Object.entries(english), ...Object.entries(vietnamese)]) {
      assert.ok(text.trim().length > 0, key);
    }
  });

  it("have places for the same values in both", () => {
    const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [key, text] of Object.entries(english)) {
      const other = Object.entries(vietnamese).find(([name]) => name === key)?.[1] ?? "";
      assert.deepEqual(places(other), places(text), key);
    }
  });

  it("are in Vietnamese where they are to be", () => {
    const same = Object.entries(vietnamese).filter(([key, text]) => {
      return Object.entries(english).some((entry) => entry[0] === key && entry[1] === text);
    });
    assert.ok(same.length < 10, same.join("\n"));
  });

  it("are all of use", () => {
    // A name may be put together: `topup.status.${status}`.
    const families = [...sources.matchAll(/[`"]([\w.]+\.)\$\{/g)].map((match) => match[1] ?? "");
    assert.ok(families.length > 5, families.join());
    // A whole family may be listed: `textsOf("column.")`.
    families.push(
      ...Array.from(sources.matchAll(/textsOf\("([\w.]+)"\)/g), (match) => match[1] ?? ""),
    );
    const unused = keys.filter((key) => {
      const isUsed = sources.includes(`"${key}"`) || document.includes(`.${key})`);
      return !isUsed && !families.some((family) => key.startsWith(family));
    });
    assert.deepEqual(unused, []);
  });

  it("explain every column of the CSV export", () => {
    for (const texts of [english, vietnamese]) {
      const explained = Object.keys(texts).filter((key) => key.startsWith("column."));
      assert.deepEqual(
        explained,
        csvColumns.map((column) => `column.${column}`),
      );
    }
  });
});
