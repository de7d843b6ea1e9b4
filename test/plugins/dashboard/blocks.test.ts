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
  t.test("is split into blocks", async (t) => {
    const blocks = blocksOf(ANSWER).map(({ source, end, ...block }) => block);
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

  t.test("can be cut anywhere: every block but the last is already final", async (t) => {
    const whole = blocksOf(ANSWER).map((block) => JSON.stringify(block));
    for (let end = 0; end <= ANSWER.length; end += 1) {
      const blocks = blocksOf(ANSWER.slice(0, end));
      // Later text can change the last two blocks: a list goes on after an empty line, and a line
      // can make a table.
      for (const [at, block] of blocks.slice(0, -2).entries()) {
        t.equal(JSON.stringify(block), whole[at], ANSWER.slice(0, end));
      }
    }
  });

  t.test("takes linear time for the degenerate output of a model", async (t) => {
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
