import MarkdownIt, { type Token } from "markdown-it/browser";

/** A top-level block of Markdown. `end` is where the next block begins. */
export interface Block {
  readonly source: string;
  readonly end: number;
  /** Opening and closing tokens in the order of the text, as markdown-it returns them. */
  readonly tokens: readonly Token[];
}

/**
 * A document can make a model write any text, and markdown-it reads each in linear time. HTML is text. A definition of a
 * link would change blocks that are shown already, so it is text too.
 */
const reader = new MarkdownIt({ html: false, linkify: true, breaks: true }).disable("reference");
// Only addresses with a scheme become links: not `main.rs` or `a@b.vn`.
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });

/** Reads the blocks of a text. If text is added to it, all but the last two stay as they are. */
export function blocksOf(markdown: string): Block[] {
  const lineStarts = [0];
  for (const { index, 0: lineEnd } of markdown.matchAll(/\r\n?|\n/g)) {
    lineStarts.push(index + lineEnd.length);
  }
  const groups: { readonly line: number; readonly tokens: Token[] }[] = [];
  for (const token of reader.parse(markdown, {})) {
    const isStart = token.level === 0 && token.nesting !== -1;
    if (isStart) groups.push({ line: token.map?.[0] ?? 0, tokens: [] });
    groups.at(-1)?.tokens.push(token);
  }
  return groups.map(({ line, tokens }, at) => {
    const end = lineStarts[groups[at + 1]?.line ?? lineStarts.length] ?? markdown.length;
    return { source: markdown.slice(lineStarts[line], end), end, tokens };
  });
}
