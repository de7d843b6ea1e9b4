import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../core/process/root.ts";
import { text as english } from "../../../plugins/dashboard/browser/text-en.ts";
import { text as vietnamese } from "../../../plugins/dashboard/browser/text-vi.ts";
import { csvColumns } from "../../../plugins/dashboard/csv.ts";
import { frontTexts } from "../../../plugins/dashboard/front-text.ts";

const folder = join(packageRoot, "plugins/dashboard/browser");
const sources = [folder, join(packageRoot, "plugins/page-parts/browser")]
  .flatMap((place) =>
    readdirSync(place, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.startsWith("text-"))
      .map((name) => readFileSync(join(place, name), "utf8")),
  )
  .join("\n");
const document = readFileSync(join(packageRoot, "plugins/page-parts/document.ts"), "utf8");

t.test("the texts of the pages", async (t) => {
  const keys = Object.keys(english);

  t.test("are the same in both languages, and none is empty", async (t) => {
    t.ok(keys.length > 300, `${keys.length} texts`);
    t.strictSame(Object.keys(vietnamese).sort(), [...keys].sort());
    for (const [key, text] of [...Object.entries(english), ...Object.entries(vietnamese)]) {
      t.ok(text.trim().length > 0, key);
    }
  });

  t.test("have the same placeholders in both", async (t) => {
    const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [key, text] of Object.entries(english)) {
      const other = Object.entries(vietnamese).find(([name]) => name === key)?.[1] ?? "";
      t.strictSame(places(other), places(text), key);
    }
  });

  t.test("are in Vietnamese in the Vietnamese file", async (t) => {
    const same = Object.entries(vietnamese).filter(([key, text]) => {
      return Object.entries(english).some((entry) => entry[0] === key && entry[1] === text);
    });
    t.ok(same.length < 10, same.join("\n"));
  });

  t.test("are all used", async (t) => {
    // A key may be built from parts: `topup.status.${status}`.
    const families = [...sources.matchAll(/[`"]([\w.]+\.)\$\{/g)].map((match) => match[1] ?? "");
    t.ok(families.length > 5, families.join());
    // A whole family may be read at once: `textsOf("column.")`.
    families.push(
      ...Array.from(sources.matchAll(/textsOf\("([\w.]+)"\)/g), (match) => match[1] ?? ""),
    );
    const unused = keys.filter((key) => {
      const isUsed = sources.includes(`"${key}"`) || document.includes(`text("${key}")`);
      return !isUsed && !families.some((family) => key.startsWith(family));
    });
    t.strictSame(unused, []);
  });

  t.test("use the words of the glossary, and no other for the same thing", async (t) => {
    const glossary: readonly Record<"en" | "vi" | "means", string>[] &
      readonly { not: string[] }[] = JSON.parse(
      readFileSync(join(folder, "glossary.json"), "utf8"),
    );
    t.ok(glossary.length > 20);
    const all = {
      en: [...Object.entries(english), ...Object.entries(frontTexts.en)],
      vi: [...Object.entries(vietnamese), ...Object.entries(frontTexts.vi)],
    };
    const has = (text: string, word: string) =>
      new RegExp(`(?<![\\p{L}-])${word}(?![\\p{L}-])`, "iu").test(text);
    for (const { means, not, ...words } of glossary) {
      for (const language of ["en", "vi"] as const) {
        t.ok(
          all[language].some(([, text]) => has(text, words[language])),
          `${means}: ${words[language]}`,
        );
        const strays = all[language].filter(([, text]) => not.some((word) => has(text, word)));
        t.strictSame(strays, [], `${means}: say ${words[language]}`);
      }
    }
  });

  t.test("choose between one and many wherever a number stands before a word", async (t) => {
    const counted = Object.entries(english).filter(([, text]) => /\{count\} [a-z]/.test(text));
    const isOpen = ([key]: [string, string]) =>
      /^(?:call\.(?:cached|reasoning)|keys\.count)$/.test(key);
    t.strictSame(
      counted.filter((entry) => !isOpen(entry)),
      [],
    );
  });

  t.test("explain every column of the CSV export", async (t) => {
    for (const texts of [english, vietnamese]) {
      const explained = Object.keys(texts).filter((key) => key.startsWith("column."));
      t.strictSame(
        explained,
        csvColumns.map((column) => `column.${column}`),
      );
    }
  });
});
