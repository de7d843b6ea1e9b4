import t from "tap";
import { type Block, blocksOf } from "../../../plugins/dashboard/browser/chat/blocks.ts";

const REPLY = [
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
  "",
  "Below a line",
  "===",
  "```ts",
  "const a = 1;",
  "",
  "# no heading",
  "```",
  "    indented",
  "",
  "    more",
  "| a | b \\| c |",
  "|---|:-:|",
  "| 1 | 2 |",
  "",
  "***",
  "The [end](https://a.vn) of snake_case\r\n",
  "[end]: https://a.vn",
].join("\n");

/** Returns what is shown of a block: its tokens without their positions in the text. */
function shownBy({ tokens }: Block): string {
  return JSON.stringify(
    tokens.map(({ type, content, children }) => [type, content, children?.map((one) => one.type)]),
  );
}

t.test("Markdown", async (t) => {
  t.test("is read in blocks that make up the text", async (t) => {
    const blocks = blocksOf(REPLY);
    t.strictSame(
      blocks.map(({ tokens }) => tokens[0]?.type),
      [
        "heading_open",
        "paragraph_open",
        "bullet_list_open",
        "ordered_list_open",
        "blockquote_open",
        "heading_open",
        "fence",
        "code_block",
        "table_open",
        "hr",
        "paragraph_open",
        "paragraph_open",
      ],
    );
    t.equal(blocks.map(({ source }) => source).join(""), REPLY);
    t.strictSame(
      blocks.map(({ end }) => end),
      blocks.map((_, at) =>
        blocks.slice(0, at + 1).reduce((sum, { source }) => sum + source.length, 0),
      ),
    );
  });

  t.test("can be cut anywhere: every block but the last two is final", async (t) => {
    const whole = blocksOf(REPLY).map(shownBy);
    for (let length = 0; length <= REPLY.length; length += 1) {
      for (const [at, block] of blocksOf(REPLY.slice(0, length)).slice(0, -2).entries()) {
        t.equal(shownBy(block), whole[at], REPLY.slice(0, length));
      }
    }
  });

  t.test("reads only addresses with a scheme as links, and no HTML", async (t) => {
    for (const [text, address] of [
      ["see https://a.vn/b?c=d.", "https://a.vn/b?c=d"],
      ["[text](https://a.vn/x_(y))", "https://a.vn/x_(y)"],
      ["<https://a.vn>", "https://a.vn"],
      ["main.rs, a@b.vn and www.a.vn", undefined],
      ["[a](javascript:alert(1))", undefined],
      ["<b>a</b> <!-- b -->", undefined],
      ["[a]\n\n[a]: https://a.vn/x", "https://a.vn/x"],
    ] as const) {
      const inline = blocksOf(text).flatMap(({ tokens }) =>
        tokens.flatMap((one) => one.children ?? []),
      );
      const link = inline.find(({ type }) => type === "link_open");
      t.equal(link?.attrGet("href") ?? undefined, address, text);
      t.notOk(inline.some(({ type }) => type.startsWith("html")));
    }
  });
});

/**
 * Texts that freeze a page for minutes if a parser takes more than linear time. The time limit of the file is the
 * assertion.
 */
t.test("hostile text of 100 KB is read in linear time", async (t) => {
  const LENGTH = 100_000;
  const fill = (text: string) => text.repeat(Math.ceil(LENGTH / text.length));
  const nested = (open: string, close: string) => `${open.repeat(7_000)}x${close.repeat(7_000)}`;
  const growing = (line: (n: number) => string) => Array.from({ length: 440 }, (_, n) => line(n));
  for (const text of [
    // Spaces and line ends.
    `${fill(" ")}x`,
    `# a${fill(" ")}x`,
    `a|b\n${fill(" ")}x`,
    `\`\`\`${fill(" ")}\``,
    `- ${fill(" ")}a\rb`,
    `a${fill(" ")}\nb`,
    `# a${fill("\u00a0")}x`,
    fill("\n"),
    fill("\t"),
    fill("\r"),
    fill("  \n"),
    fill("a  \n"),
    fill("\0"),
    // Blocks.
    `a|b\n${fill("-|")}x`,
    `a|b\n-|-\n${fill("1|2\n")}`,
    `${fill("a|")}\n${fill("-|")}`,
    fill("a|b\n-|-\n"),
    fill("|"),
    `- ${fill("- ")}x`,
    fill("> "),
    fill("- > "),
    fill("> a\n"),
    fill("- a\n"),
    fill("1. a\n\n"),
    fill("- a\n  - b\n"),
    `> a\n${fill("b\n")}`,
    `- a\n${fill("b\n")}`,
    `- a${fill("\n")}b`,
    `- a\n${fill(" \n")}b`,
    growing((n) => `${">".repeat(n)} a`).join("\n"),
    growing((n) => `${" ".repeat(n)}- a`).join("\n"),
    growing((n) => "`".repeat(n)).join("\n"),
    fill("```\n"),
    fill("~~~a\n"),
    fill("    a\n\n"),
    fill("a\n=\n"),
    `${fill("a\n")}---`,
    `# ${fill(" #")}x`,
    `${fill("*\t")}x`,
    fill("[a]: b\n"),
    fill("[a]: "),
    // Emphasis and code.
    fill("*"),
    fill("** "),
    fill("a **b "),
    fill("**a _b ~~c "),
    fill("_a "),
    fill("a_b"),
    fill("*.*"),
    fill("**a*"),
    fill("***a** b* "),
    fill("~~a"),
    fill("~~a~ "),
    nested("*a **b ", " b** a*"),
    nested("~~a *b ", " b* a~~"),
    growing((n) => `a${"`".repeat(n)}`).join(""),
    fill("`a``"),
    `*${fill("`a")}`,
    // Links, addresses and HTML.
    fill("["),
    fill("[a"),
    fill("[a]("),
    fill("[a](b"),
    fill('[a](b "'),
    fill("[a](<b"),
    `${fill("[")}](${fill("x")}`,
    `${fill("![")}](${fill("x")}`,
    `[a](${fill("(")}`,
    `[${fill("\\]")}`,
    nested("[", "](http://x)"),
    nested("![", "](http://x)"),
    fill("http://"),
    `http://a${fill("(")}`,
    `http://a${fill(")")}`,
    `http://a${fill(".")} `,
    `http://a${fill("&a;")}`,
    `${fill("a.")}@b`,
    fill("a@"),
    fill("<http://a"),
    fill("<"),
    fill("<a "),
    `<a ${fill('b="c" ')}`,
    fill("<div>\n"),
    fill("<!--"),
    fill("\\"),
    fill("&#"),
  ]) {
    const blocks = blocksOf(text);
    t.ok(blocks.length > 0 || text.trim() === "", text.slice(0, 20));
  }
});
