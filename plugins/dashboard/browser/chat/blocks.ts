/** A block of Markdown with its source text. */
export type Block = { readonly source: string } & (
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

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_LINE = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*\|?\s*$/;
const QUOTE = /^ {0,3}> ?/;

/**
 * Parses the subset of Markdown that models write into blocks. Works on text that still grows: a
 * code block without its closing fence is a code block, and more text changes only the last block.
 */
export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const start = at;
    const block =
      readCode(lines, at) ?? readOneLine(line) ?? readTable(lines, at) ?? readRun(lines, at);
    at = start + block.lines;
    blocks.push({ ...block.block, source: lines.slice(start, at).join("\n") });
  }
  return blocks;
}

type WithoutSource<One> = One extends Block ? Omit<One, "source"> : never;
interface Read {
  readonly block: WithoutSource<Block>;
  /** Number of lines that the block takes. */
  readonly lines: number;
}

function readCode(lines: readonly string[], start: number): Read | undefined {
  const [, fence = "", language = ""] = FENCE.exec(lines[start] ?? "") ?? [];
  if (fence === "") return undefined;
  const isEnd = (line: string) => line.trim().startsWith(fence) && /^\s*(?:`+|~+)\s*$/.test(line);
  let end = start + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end += 1;
  const text = lines.slice(start + 1, end).join("\n");
  return { block: { kind: "code", language, text }, lines: end - start + 1 };
}

function readOneLine(line: string): Read | undefined {
  const heading = HEADING.exec(line);
  if (heading) {
    const [, marks = "", text = ""] = heading;
    return { block: { kind: "heading", level: marks.length, text }, lines: 1 };
  }
  return RULE.test(line) ? { block: { kind: "rule" }, lines: 1 } : undefined;
}

function readTable(lines: readonly string[], start: number): Read | undefined {
  const head = lines[start] ?? "";
  if (!head.includes("|") || !TABLE_LINE.test(lines[start + 1] ?? "")) return undefined;
  let end = start + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(start + 2, end).map(cellsOf);
  return { block: { kind: "table", head: cellsOf(head), rows }, lines: end - start };
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
  const item = ITEM.exec(first);
  if (item) return readList(lines, start, /\d/.test(item[2] ?? ""));
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

/** Reads list items. The lines indented below an item belong to it and are Markdown again. */
function readList(lines: readonly string[], start: number, ordered: boolean): Read {
  const items: string[][] = [];
  const outer = ITEM.exec(lines[start] ?? "")?.[1]?.length ?? 0;
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [, indent = "", sign = "", text = ""] = ITEM.exec(line) ?? [];
    // An item that is indented further belongs to a nested list.
    if (sign !== "" && indent.length < outer + 2 && !RULE.test(line)) {
      if (/\d/.test(sign) !== ordered) break;
      items.push([text]);
    } else if (line.trim() === "") {
      // A list continues after an empty line if the next line is an item or is indented.
      const follows = lines[at + 1] ?? "";
      if (!/^(?: {2,}|\t)\S/.test(follows) && !ITEM.test(follows)) break;
      items.at(-1)?.push("");
    } else if (/^(?: {2,}|\t)/.test(line)) items.at(-1)?.push(line.replace(/^(?: {1,4}|\t)/, ""));
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

function interrupts(line: string): boolean {
  return [FENCE, HEADING, RULE, ITEM, QUOTE].some((form) => form.test(line));
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
