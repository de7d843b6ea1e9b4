import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../core/process/root.ts";
import { complaints, passagesOf } from "./support/english.ts";
import { filesBelow } from "./support/files.ts";

const ROOMS = ["core", "plugins", "bench", "config", "test"];
/** The list of banned words itself, and this test of it. */
const EXEMPT = new Set(["test/support/english.ts", "test/english.test.ts"]);

/** A migration that has run somewhere never changes. */
const isChecked = (file: string) => !EXEMPT.has(file) && !file.includes("/migrations/");

t.test("the English of comments, messages and texts", async (t) => {
  for (const room of ROOMS) {
    t.test(`is plain in ${room}`, async (t) => {
      const files = filesBelow(room).filter(isChecked);
      t.ok(files.length > 0);
      const found = files.flatMap((file) =>
        complaints(file, readFileSync(join(packageRoot, file), "utf8")),
      );
      t.equal(found.join("\n"), "");
    });
  }

  t.test("is plain in the README", async (t) => {
    const readme = readFileSync(join(packageRoot, "README.md"), "utf8");
    t.equal(complaints("README.md", readme).join("\n"), "");
  });
});

t.test("the guard of the English", async (t) => {
  t.test("finds a banned word in a comment, a string and a template, with its line", async (t) => {
    const source = [
      "/** Waits where the store",
      " * is away. */",
      'const error = "nobody was asked";',
      'const pattern = /["`]/; // whoever calls it',
      "log(`it is told`, name);",
    ].join("\n");
    const lines = complaints("a.ts", source).map((row) => row.split(": write")[0]);
    t.strictSame(lines, [
      'a.ts:1: not "where"',
      'a.ts:1: not "is away"',
      'a.ts:3: not "nobody"',
      'a.ts:4: not "whoever"',
      'a.ts:5: not "is told"',
    ]);
  });

  t.test("reads comments of Lua, SQL and YAML across their lines", async (t) => {
    t.equal(complaints("a.lua", "-- in place\n-- of it\nlocal x = 1").length, 1);
    t.equal(complaints("a.sql", "select 1 -- nobody\nfrom a where b").length, 1);
    t.equal(complaints("a.yaml", "key: nobody # whoever").length, 1);
  });

  t.test("lets places and SQL have their where", async (t) => {
    t.strictSame(complaints("a.ts", "// The line where it ends, and where it begins."), []);
    t.strictSame(complaints("a.ts", "sql`select a from b where c`"), []);
  });

  t.test("finds texts that can be read in two ways", async (t) => {
    const found = [
      "// Most connections at a time.",
      "// Most posted calls that wait.",
      "// What was not sent yet.",
      'f("calls that may not be charged yet");',
      'f("it runs all the same");',
      'f("aMs > 2 * bMs, or calls are refused");',
    ];
    for (const source of found) t.equal(complaints("a.ts", source).length, 1, source);
    const fine = [
      "// Most turns of a chat request are plain text.",
      "// Most operators stop every gateway.",
      "// What happens to unknown names.",
      "// It may or may not have been applied.",
      'f("all the same version");',
      'f("aMs > bMs; otherwise calls are refused");',
    ];
    for (const source of fine) t.strictSame(complaints("a.ts", source), []);
  });

  t.test("leaves code blocks of a README alone", async (t) => {
    t.strictSame(complaints("a.md", "```\nnobody\n```\n"), []);
  });

  t.test("finds every passage of a file", async (t) => {
    const kinds = passagesOf("a.ts", "// one\n// two\n\n/* three */ f('four five', 'six');");
    t.strictSame(kinds, [
      { line: 1, text: "one two", kind: "comment" },
      { line: 4, text: "three", kind: "comment" },
      { line: 4, text: "four five", kind: "text" },
    ]);
  });
});
