import type { Token } from "markdown-it/browser";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el } from "../../../page-parts/browser/dom.ts";
import { t } from "../text.ts";
import { blocksOf } from "./blocks.ts";

/** Below this depth text is shown without its marks: browsers fail on documents thousands of elements deep. */
const DEPTH_MAX = 24;

/** Text that still grows can change its last two blocks: see `blocksOf`. */
const GROWING_BLOCKS = 2;

/** The elements that Markdown makes; what has no entry is text. Headings start below those of the page. */
const ELEMENTS: Readonly<Record<string, keyof HTMLElementTagNameMap>> = {
  h1: "h3",
  h2: "h4",
  h3: "h5",
  h4: "h5",
  h5: "h5",
  h6: "h5",
  p: "p",
  ul: "ul",
  ol: "ol",
  li: "li",
  blockquote: "blockquote",
  table: "table",
  thead: "thead",
  tbody: "tbody",
  tr: "tr",
  th: "th",
  td: "td",
  strong: "strong",
  em: "em",
  s: "del",
};

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
    this.element.append(...blocks.slice(same).map(({ tokens }) => blockElement(tokens)));
    const done = blocks.slice(0, -GROWING_BLOCKS);
    this.finished += done.length;
    this.finishedTo += done.at(-1)?.end ?? 0;
    this.sources = blocks.slice(done.length).map(({ source }) => source);
  }
}

function blockElement(tokens: readonly Token[]): HTMLElement {
  const block = el("div");
  appendAll(block, tokens, 0);
  return block.firstElementChild instanceof HTMLElement ? block.firstElementChild : block;
}

/** Appends what the tokens stand for. Each opening token must have its closing one. */
function appendAll(root: HTMLElement, tokens: readonly Token[], rootDepth: number): void {
  const open = [root];
  for (const token of tokens) {
    const place = open.at(-1) ?? root;
    if (token.nesting === -1) open.pop();
    else if (token.nesting === 1) {
      const element = rootDepth + open.length > DEPTH_MAX ? undefined : elementOf(token);
      if (element) place.append(token.tag === "table" ? scrollable(element) : element);
      open.push(element ?? place);
    } else if (token.type === "inline") {
      appendAll(place, token.children ?? [], rootDepth + open.length);
    } else place.append(leaf(token));
  }
}

/** Returns undefined for what is shown as the text that it contains. */
function elementOf(token: Token): HTMLElement | undefined {
  if (token.tag === "a") return link(String(token.attrGet("href")));
  const tag = ELEMENTS[token.tag];
  // The paragraphs of a list without empty lines are hidden.
  if (tag === undefined || token.hidden) return undefined;
  return el(tag, { start: token.attrGet("start") });
}

function leaf(token: Token): Node | string {
  switch (token.type) {
    case "softbreak":
    case "hardbreak":
      return el("br");
    case "code_inline":
      return el("code", {}, token.content);
    case "fence":
    case "code_block":
      return codeBlock(/^[\w+#.-]*/.exec(token.info)?.[0] ?? "", token.content.replace(/\n$/, ""));
    case "hr":
      return el("hr");
    case "image": {
      // Loading an image would reveal the reader.
      const address = String(token.attrGet("src"));
      const text = token.content || address;
      const made = link(address);
      made?.append(text);
      return made ?? text;
    }
    default:
      return token.content;
  }
}

function scrollable(table: HTMLElement): HTMLElement {
  table.className = "data";
  return el("div", { class: "scroll", tabindex: 0 }, table);
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

/** Returns undefined for addresses other than http and https. */
function link(address: string): HTMLAnchorElement | undefined {
  try {
    // Without `URL.canParse`, which iOS 16 lacks.
    if (!/^https?:$/.test(new URL(address).protocol)) return undefined;
  } catch {
    return undefined;
  }
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" });
}
