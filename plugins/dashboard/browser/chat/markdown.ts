import { copyButton } from "../copy.ts";
import { type Child, el } from "../dom.ts";
import { t } from "../text.ts";
import { type Block, blocksOf } from "./blocks.ts";
import { type Inline, inlineOf } from "./inline.ts";

/** Quotes and lists contain Markdown again. Below this depth it is shown as plain text. */
const DEPTH_MAX = 6;

/** Text that still grows can change its last two blocks: see `blocksOf`. */
const GROWING_BLOCKS = 2;

/**
 * Renders Markdown that grows. Makes elements with text nodes, never markup from text. Reads and renders only the last
 * blocks again when text is added, so a long reply costs as much as its length.
 */
export class MarkdownView {
  readonly element: HTMLElement = el("div", { class: "markdown" });
  private shown = "";
  /** The blocks that later text cannot change: their number, and the position at which the text after them begins. */
  private finished = 0;
  private finishedTo = 0;
  private sources: string[] = [];

  show(markdown: string): void {
    if (!markdown.startsWith(this.shown)) {
      this.finished = this.finishedTo = 0;
      this.sources = [];
    }
    this.shown = markdown;
    const blocks = blocksOf(markdown.slice(this.finishedTo));
    let same = 0;
    while (same < blocks.length && this.sources[same] === blocks[same]?.source) same += 1;
    while (this.element.childNodes.length > this.finished + same) this.element.lastChild?.remove();
    this.element.append(...blocks.slice(same).map((block) => blockElement(block, 0)));
    const done = blocks.slice(0, -GROWING_BLOCKS);
    this.finished += done.length;
    this.finishedTo += done.at(-1)?.end ?? 0;
    this.sources = blocks.slice(done.length).map(({ source }) => source);
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

/** Renders emphasis, code, links and line breaks within a text. */
function inline(text: string): Child[] {
  return inlineOf(text).map(inlineElement);
}

function inlineElement(piece: Inline): Child {
  if (typeof piece === "string") return piece;
  switch (piece.kind) {
    case "code":
      return el("code", {}, piece.text);
    case "link":
      return link(piece.address, piece.text);
    case "break":
      return el("br");
    default:
      return el(piece.kind, {}, piece.content.map(inlineElement));
  }
}

/**
 * Renders http and https links only. Images become links too, since loading one would reveal the
 * reader.
 */
function link(address: string, text: string): Child {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return text;
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}
