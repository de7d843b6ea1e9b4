import type { Inflation } from "./inflation.ts";
import { streamsOf } from "./pdf-streams.ts";

/** Maximum pages: more than any provider takes. Claude takes 600, OpenAI 100, Gemini 1,000. */
export const PAGES_MAX = 1_000;

/** Maximum escapes in names. Names in PDFs rarely have any. */
const ESCAPES_MAX = 10_000;

const PAGE = /\/Type\s{0,99}\/Page(?![A-Za-z])/g;
const COUNT = /\/Count\s{1,99}(\d{1,9})/g;
const KIDS = /\/Kids\s{0,99}\[/g;
// Bounded runs: `\d+` would read a long run of digits again from each of them.
const REFERENCE = /\d{1,10}\s{1,10}\d{1,5}\s{1,10}R/g;
const ESCAPED = /#[0-9A-Fa-f]{2}/g;

/**
 * Returns at least the pages of a PDF. Readers differ in what they count, so this takes the largest of three numbers:
 * the pages, the count that the page trees claim, and the pages that they refer to. A file whose objects cannot be read
 * counts as the longest that a provider takes.
 */
export function pdfPages(bytes: Buffer, inflation: Inflation): number {
  const objects = objectsOf(bytes, inflation);
  if (objects === undefined || hasManyEscapes(objects)) return PAGES_MAX;
  const text = objects.includes("#") ? objects.replace(ESCAPED, unescaped) : objects;
  const pages = text.match(PAGE)?.length ?? 0;
  let claimed = 0;
  for (const [, count] of text.matchAll(COUNT)) claimed = Math.max(claimed, Number(count));
  const most = Math.max(pages, claimed, kidsIn(text));
  return most === 0 ? PAGES_MAX : Math.min(most, PAGES_MAX);
}

/**
 * Counts the references in lists of pages. A list that does not end counts as the maximum: each would be read to the
 * end.
 */
function kidsIn(text: string): number {
  let kids = 0;
  for (const { 0: start, index } of text.matchAll(KIDS)) {
    const from = index + start.length;
    const end = text.indexOf("]", from);
    const next = text.indexOf("/Kids", from);
    if (end === -1 || (next !== -1 && next < end)) return PAGES_MAX;
    kids += text.slice(from, end).match(REFERENCE)?.length ?? 0;
  }
  return kids;
}

function hasManyEscapes(text: string): boolean {
  let at = -1;
  for (let count = 0; count <= ESCAPES_MAX; count += 1) {
    at = text.indexOf("#", at + 1);
    if (at === -1) return false;
  }
  return true;
}

function unescaped(code: string): string {
  return String.fromCharCode(Number.parseInt(code.slice(1), 16));
}

/** Returns the text of all objects, without the contents of streams; undefined if some are unreadable. */
function objectsOf(bytes: Buffer, inflation: Inflation): string | undefined {
  if (bytes.includes("/Encrypt") && bytes.includes("/ObjStm")) return undefined;
  const parts: string[] = [];
  let at = 0;
  for (const { keyword, from, to, next } of streamsOf(bytes)) {
    const before = bytes.toString("latin1", at, keyword);
    parts.push(before);
    if (before.lastIndexOf("/ObjStm") > before.lastIndexOf("endobj")) {
      const objects = inflation.inflate(bytes.subarray(from, to), "objects");
      if (objects === undefined) return undefined;
      parts.push(objects.toString("latin1"));
    }
    at = next;
  }
  parts.push(bytes.toString("latin1", at));
  return parts.join("\n");
}
