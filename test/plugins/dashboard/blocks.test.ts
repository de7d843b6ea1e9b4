import t from "tap";
import { blocksOf } from "../../../plugins/dashboard/browser/chat/blocks.ts";

const ANSWER = [
  "# Title #",
  "",
  "A paragraph",
  "of two lines",
  "- one",
  "- two",
  "  1. nested",
  "",
  "  still two",
  "",
  "3. third",
  "> quoted",
  "> more",
  "```ts",
  "const a = 1;",
  "",
  "# no heading",
  "```",
  "| a | b \\| c |",
  "|---|:-:|",
  "| 1 | 2 |",
  "",
  "***",
  "The end",
].join("\n");

t.test("Markdown", async (t) => {
  t.test("is cut into blocks", async (t) => {
    const blocks = blocksOf(ANSWER).map(({ source, ...block }) => block);
    t.strictSame(blocks, [
      { kind: "heading", level: 1, text: "Title" },
      { kind: "paragraph", text: "A paragraph\nof two lines" },
      {
        kind: "list",
        ordered: false,
        start: 1,
        items: ["one", "two\n1. nested\n\nstill two"],
      },
      { kind: "list", ordered: true, start: 3, items: ["third"] },
      { kind: "quote", text: "quoted\nmore" },
      { kind: "code", language: "ts", text: "const a = 1;\n\n# no heading" },
      { kind: "table", head: ["a", "b | c"], rows: [["1", "2"]] },
      { kind: "rule" },
      { kind: "paragraph", text: "The end" },
    ]);
  });

  t.test("may end anywhere: a block before the last is what it will be in the end", async (t) => {
    const whole = blocksOf(ANSWER).map((block) => JSON.stringify(block));
    for (let end = 0; end <= ANSWER.length; end += 1) {
      const blocks = blocksOf(ANSWER.slice(0, end));
      // What follows may still belong to the last two: a list goes on behind an empty line, a line makes a table.
      for (const [at, block] of blocks.slice(0, -2).entries()) {
        t.equal(JSON.stringify(block), whole[at], ANSWER.slice(0, end));
      }
    }
  });

  t.test("takes no longer than its length for what models write when they go astray", async (t) => {
    for (const bad of [
      "`".repeat(50_000),
      "- ".repeat(20_000),
      "|".repeat(50_000),
      "> ".repeat(20_000),
    ]) {
      t.ok(blocksOf(bad).length >= 1);
    }
    t.equal(blocksOf("x\n\n".repeat(20_000)).length, 20_000);
  });
});
