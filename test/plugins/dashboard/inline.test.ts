import t from "tap";
import { blocksOf } from "../../../plugins/dashboard/browser/chat/blocks.ts";
import { type Inline, inlineOf } from "../../../plugins/dashboard/browser/chat/inline.ts";

const strong = (...content: Inline[]): Inline => ({ kind: "strong", content });
const em = (...content: Inline[]): Inline => ({ kind: "em", content });
const code = (text: string): Inline => ({ kind: "code", text });
const link = (address: string, text = address): Inline => ({ kind: "link", address, text });

t.test("Markdown within a block", async (t) => {
  for (const [text, expected] of [
    ["plain", ["plain"]],
    ["a **b** c", ["a ", strong("b"), " c"]],
    ["__b__ and *i*, _j_", [strong("b"), " and ", em("i"), ", ", em("j")]],
    ["**a *b* c**", [strong("a ", em("b"), " c")]],
    ["~~gone~~", [{ kind: "del", content: ["gone"] }]],
    ["snake_case_name and 2 * 3 * 4", ["snake_case_name and 2 * 3 * 4"]],
    ["** not strong**", ["** not strong**"]],
    ["open **to\nthe next line**", ["open **to", { kind: "break" }, "the next line**"]],
    ["`a*b*c` and ``a`b``", [code("a*b*c"), " and ", code("a`b")]],
    ["`` ` ``", [code("`")]],
    ["```open", ["```", "open"]],
    ["[text](https://a.vn/x_(y))", [link("https://a.vn/x_(y)", "text")]],
    ["![](https://a.vn/i.png)", [link("https://a.vn/i.png")]],
    ["[no](two words)", ["[no](two words)"]],
    ["see https://a.vn/b?c=d.", ["see ", link("https://a.vn/b?c=d"), "."]],
    ["(http://a.vn)", ["(", link("http://a.vn"), ")"]],
    ["\\*not em\\*", ["*", "not em", "*"]],
    ["one  \ntwo\nthree", ["one", { kind: "break" }, "two", { kind: "break" }, "three"]],
  ] as const) {
    t.strictSame(inlineOf(text), expected, text);
  }
});

/** Texts that froze a page for minutes while expressions backtracked. The time limit of the file is the assertion. */
t.test("hostile text of 200 KB is read in linear time", async (t) => {
  const KB = 200_000;
  const fill = (text: string) => text.repeat(Math.ceil(KB / text.length));
  const runs = Array.from({ length: 600 }, (_, n) => `a${"`".repeat(n)}`).join("");
  for (const [name, text] of [
    ["spaces", `${fill(" ")}x`],
    ["a heading with spaces", `# a${fill(" ")}x`],
    ["a table with spaces", `a|b\n${fill(" ")}x`],
    ["a table of dashes", `a|b\n${fill("-|")}x`],
    ["a fence with spaces", `\`\`\`${fill(" ")}\``],
    ["an item with spaces and a return", `- ${fill(" ")}a\rb`],
    ["a rule that is none", `- ${fill("- ")}x`],
    ["brackets", fill("[")],
    ["brackets with text", fill("[a")],
    ["links without an end", fill("[a](")],
    ["links of words", fill("[a](b")],
    ["brackets before one long address", `${fill("[")}](${fill("x")}`],
    ["images before one long address", `${fill("![")}](${fill("x")}`],
    ["growing runs of backticks", runs],
    ["stars", fill("*")],
    ["stars in pairs", fill("** ")],
    ["words with stars", fill("a **b ")],
    ["nested emphasis", fill("**a _b ~~c ")],
    ["underscores", fill("_a ")],
    ["tildes", fill("~~a")],
    ["addresses", fill("http://")],
    ["backslashes", fill("\\")],
    ["line breaks", fill("a  \n")],
    ["quotes", fill("> ")],
    ["lists", fill("- a\n  - b\n")],
    ["fences", fill("```\n")],
  ] as const) {
    const blocks = blocksOf(text);
    const length = blocks.reduce((sum, { source }) => sum + inlineOf(source).length, 0);
    t.ok(length > 0 || text.trim() === "", name);
  }
});
