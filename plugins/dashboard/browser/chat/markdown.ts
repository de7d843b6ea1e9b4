import { copyButton } from "../copy.ts";
import { type Child, el } from "../dom.ts";
import { t } from "../text.ts";
import { type Block, blocksOf } from "./blocks.ts";

/** Quotes and lists contain Markdown again. Below this depth it is shown as plain text. */
const DEPTH_MAX = 6;

/**
 * Renders Markdown that grows. Makes elements with text nodes, never markup from text. Keeps the
 * elements of unchanged blocks, so an update of a long reply renders only its last block.
 */
export class MarkdownView {
  readonly element: HTMLElement = el("div", { class: "markdown" });
  private sources: string[] = [];

  show(markdown: string): void {
    const blocks = blocksOf(markdown);
    let same = 0;
    while (same < blocks.length && this.sources[same] === blocks[same]?.source) same += 1;
    while (this.element.childNodes.length > same) this.element.lastChild?.remove();
    this.element.append(...blocks.slice(same).map((block) => blockElement(block, 0)));
    this.sources = blocks.map(({ source }) => source);
  }
}

function blockElement(block: Block, depth: number): HTMLElement {
  switch (block.kind) {
    case "heading":
      return heading(block.level, inline(block.text));
    case "code":
      return codeBlock(block.language, block.text);
    case "quote":
      return el("blockquote", {}, nested(block.text, depth));
    case "list":
      return el(
        block.ordered ? "ol" : "ul",
        block.ordered && block.start !== 1 ? { start: block.start } : {},
        block.items.map((item) => el("li", {}, listItem(item, depth))),
      );
    case "table":
      return el(
        "div",
        { class: "scroll", tabindex: 0 },
        el(
          "table",
          { class: "data" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              block.head.map((cell) => el("th", {}, inline(cell))),
            ),
          ),
          el(
            "tbody",
            {},
            block.rows.map((row) =>
              el(
                "tr",
                {},
                row.map((cell) => el("td", {}, inline(cell))),
              ),
            ),
          ),
        ),
      );
    case "rule":
      return el("hr");
    case "paragraph":
      return el("p", {}, inline(block.text));
  }
}

/** Starts at h3, below the headings of the page. */
function heading(level: number, content: Child): HTMLElement {
  if (level === 1) return el("h3", {}, content);
  return level === 2 ? el("h4", {}, content) : el("h5", {}, content);
}

function codeBlock(language: string, text: string): HTMLElement {
  return el(
    "div",
    { class: "code-block" },
    el(
      "div",
      { class: "code-head" },
      el("span", {}, language),
      copyButton(t("chat.copycode"), () => text),
    ),
    el("pre", { tabindex: 0 }, el("code", {}, text)),
  );
}

function nested(text: string, depth: number): Child {
  if (depth >= DEPTH_MAX) return text;
  return blocksOf(text).map((block) => blockElement(block, depth + 1));
}

/** Renders a list item. Leaves out the `<p>` of its first paragraph. */
function listItem(text: string, depth: number): Child {
  const [first, ...rest] = blocksOf(text);
  if (depth >= DEPTH_MAX || !first) return text;
  const head = first.kind === "paragraph" ? inline(first.text) : blockElement(first, depth + 1);
  return [head, rest.map((block) => blockElement(block, depth + 1))];
}

const INLINE =
  /(?<code>(`+)(?:[^`]|(?!\2)`)+?\2(?!`))|(?<strong>\*\*(?=\S)[^\n]+?\S?\*\*|__(?=\S)[^\n]+?__)|(?<em>\*(?=[^\s*])[^*\n]+\*|(?<!\w)_(?=[^\s_])[^_\n]+_(?!\w))|(?<del>~~[^~\n]+~~)|(?<link>!?\[[^\]\n]*\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*\))|(?<bare>https?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?])|(?<escape>\\[\\`*_{}[\]()#+.!|~-])|(?<br> {2,}\n|\n)/;

/** Renders emphasis, code, links and line breaks within a text. */
function inline(text: string): Child[] {
  const made: Child[] = [];
  let rest = text;
  for (;;) {
    const match = INLINE.exec(rest);
    if (!match?.groups) break;
    if (match.index > 0) made.push(rest.slice(0, match.index));
    made.push(inlineElement(match[0], match.groups));
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest !== "") made.push(rest);
  return made;
}

function inlineElement(source: string, kind: Readonly<Record<string, string | undefined>>): Child {
  if (kind["code"] !== undefined) {
    const marks = /^`+/.exec(source)?.[0].length ?? 1;
    return el("code", {}, source.slice(marks, -marks).replace(/^ (.*) $/, "$1"));
  }
  if (kind["strong"] !== undefined) return el("strong", {}, inline(source.slice(2, -2)));
  if (kind["em"] !== undefined) return el("em", {}, inline(source.slice(1, -1)));
  if (kind["del"] !== undefined) return el("del", {}, inline(source.slice(2, -2)));
  if (kind["bare"] !== undefined) return link(source, source);
  if (kind["escape"] !== undefined) return source.slice(1);
  if (kind["br"] !== undefined) return el("br");
  const [, text = "", address = ""] = /^!?\[([^\]]*)\]\((.*)\)$/s.exec(source) ?? [];
  return link(address, text === "" ? address : text);
}

/**
 * Renders http and https links only. Images become links too, since loading one would reveal the
 * reader.
 */
function link(address: string, text: string): Child {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return text;
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}
