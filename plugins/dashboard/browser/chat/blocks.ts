/** A block of Markdown with its source text. `end` is where the next line begins. */
export type Block = { readonly source: string; readonly end: number } & (
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | {
      readonly kind: "list";
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly string[];
    }
  | { readonly kind: "quote"; readonly text: string }
  | {
      readonly kind: "table";
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "rule" }
  | { readonly kind: "paragraph"; readonly text: string }
);

// A document can make a model write any text, so every form takes time linear in the line: none has two parts that can match
// the same characters.
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?=\s)/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?=\s)/;
const QUOTE = /^ {0,3}> ?/;

/**
 * Parses the subset of Markdown that models write into blocks. Works on text that still grows: a
 * code block without its closing fence is a code block, and more text changes only the last block.
 */
export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  let at = 0;
  let offset = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      offset += line.length + 1;
      continue;
    }
    const start = at;
    const block =
      readCode(lines, at) ?? readOneLine(line) ?? readTable(lines, at) ?? readRun(lines, at);
    at = start + block.lines;
    const source = lines.slice(start, at).join("\n");
    offset += source.length + 1;
    blocks.push({ ...block.block, source, end: Math.min(offset, markdown.length) });
  }
  return blocks;
}

type WithoutSource<One> = One extends Block ? Omit<One, "source" | "end"> : never;
interface Read {
  readonly block: WithoutSource<Block>;
  /** Number of lines that the block takes. */
  readonly lines: number;
}

function readCode(lines: readonly string[], start: number): Read | undefined {
  const opening = fenceOf(lines[start] ?? "");
  if (!opening) return undefined;
  const { fence, language } = opening;
  const isEnd = (line: string) => line.trim().startsWith(fence) && /^(?:`+|~+)$/.test(line.trim());
  let end = start + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end += 1;
  const text = lines.slice(start + 1, end).join("\n");
  return { block: { kind: "code", language, text }, lines: end - start + 1 };
}

function fenceOf(line: string): { fence: string; language: string } | undefined {
  const [opening = "", fence = ""] = FENCE.exec(line) ?? [];
  const rest = line.slice(opening.length).trimStart();
  if (fence === "" || rest.includes("`")) return undefined;
  return { fence, language: /^[\w+#.-]*/.exec(rest)?.[0] ?? "" };
}

function readOneLine(line: string): Read | undefined {
  const [opening = "", marks = ""] = HEADING.exec(line) ?? [];
  if (marks !== "") {
    const text = withoutClosing(line.slice(opening.length).trim());
    return { block: { kind: "heading", level: marks.length, text }, lines: 1 };
  }
  return isRule(line) ? { block: { kind: "rule" }, lines: 1 } : undefined;
}

/** Removes the `#` that may close a heading, but not the one of `C#`. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  if (end === text.length) return text;
  return end === 0 || text[end - 1] === " " ? text.slice(0, end).trimEnd() : text;
}

function isRule(line: string): boolean {
  return /^ {0,3}[-*_]/.test(line) && /^([-*_])\1{2,}$/.test(line.replace(/\s/g, ""));
}

function readTable(lines: readonly string[], start: number): Read | undefined {
  const head = lines[start] ?? "";
  if (!head.includes("|") || !isTableLine(lines[start + 1] ?? "")) return undefined;
  let end = start + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(start + 2, end).map(cellsOf);
  return { block: { kind: "table", head: cellsOf(head), rows }, lines: end - start };
}

/** Returns true for the line below the head of a table: `|---|:-:|`. */
function isTableLine(line: string): boolean {
  if (!line.includes("|") || !line.includes("-")) return false;
  const cells = line.trim().split("|");
  // A line may begin and end with a bar.
  const inner = cells.slice(cells[0] === "" ? 1 : 0, cells.at(-1) === "" ? -1 : cells.length);
  return inner.every((cell) => /^:?-+:?$/.test(cell.trim()));
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\||(?<!\\)\|$/g, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Reads a quote, a list or a paragraph with all its lines. */
function readRun(lines: readonly string[], start: number): Read {
  const first = lines[start] ?? "";
  if (QUOTE.test(first)) {
    const end = endOf(lines, start, (line) => QUOTE.test(line));
    const text = lines
      .slice(start, end)
      .map((line) => line.replace(QUOTE, ""))
      .join("\n");
    return { block: { kind: "quote", text }, lines: end - start };
  }
  const item = itemOf(first);
  if (item) return readList(lines, start, item.ordered);
  const end = endOf(
    lines,
    start,
    (line, at) => line.trim() !== "" && (at === start || !interrupts(line)),
  );
  return {
    block: { kind: "paragraph", text: lines.slice(start, end).join("\n") },
    lines: end - start,
  };
}

interface Item {
  readonly indent: number;
  readonly ordered: boolean;
  readonly text: string;
}

function itemOf(line: string): Item | undefined {
  const [opening = "", indent = "", sign = ""] = ITEM.exec(line) ?? [];
  if (sign === "") return undefined;
  const text = line.slice(opening.length).trimStart();
  return { indent: indent.length, ordered: /\d/.test(sign), text };
}

/** Reads list items. The lines indented below an item belong to it and are Markdown again. */
function readList(lines: readonly string[], start: number, ordered: boolean): Read {
  const items: string[][] = [];
  const outer = itemOf(lines[start] ?? "")?.indent ?? 0;
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const item = itemOf(line);
    // An item that is indented further belongs to a nested list.
    if (item && item.indent < outer + 2 && !isRule(line)) {
      if (item.ordered !== ordered) break;
      items.push([item.text]);
    } else if (line.trim() === "") {
      // A list continues after an empty line if the next line is an item or is indented.
      const follows = lines[at + 1] ?? "";
      if (!(isIndented(follows) && follows.trim() !== "") && !itemOf(follows)) break;
      items.at(-1)?.push("");
    } else if (isIndented(line)) items.at(-1)?.push(line.replace(/^(?: {1,4}|\t)/, ""));
    else if (interrupts(line)) break;
    else items.at(-1)?.push(line);
  }
  const number = Number.parseInt((lines[start] ?? "").trim(), 10);
  const block = {
    kind: "list" as const,
    ordered,
    start: Number.isNaN(number) ? 1 : number,
    items: items.map((item) => item.join("\n").trimEnd()),
  };
  return { block, lines: Math.max(at - start, 1) };
}

function isIndented(line: string): boolean {
  return line.startsWith("  ") || line.startsWith("\t");
}

function interrupts(line: string): boolean {
  return [FENCE, HEADING, ITEM, QUOTE].some((form) => form.test(line)) || isRule(line);
}

function endOf(
  lines: readonly string[],
  start: number,
  belongs: (line: string, at: number) => boolean,
): number {
  let end = start;
  while (end < lines.length && belongs(lines[end] ?? "", end)) end += 1;
  return Math.max(end, start + 1);
}
