import { inflateSync } from "node:zlib";

/** More pages than any provider takes: Claude 600, OpenAI 100, Gemini 1,000. */
export const PAGES_MAX = 1_000;

/** The most bytes of objects that are inflated to count pages. */
const INFLATED_BYTES_MAX = 16 * 1_048_576;

const STREAM = Buffer.from("stream");
const END_OF_STREAM = Buffer.from("endstream");
const PAGE = /\/Type\s{0,99}\/Page(?![A-Za-z])/g;
const COUNT = /\/Count\s{1,99}(\d{1,9})/g;
const KIDS = /\/Kids\s{0,99}\[([^\]]*)\]/g;
// Bounded runs: `\d+` would read a long run of digits again from each of them.
const REFERENCE = /\d{1,10}\s{1,10}\d{1,5}\s{1,10}R/g;
const ESCAPED = /#[0-9A-Fa-f]{2}/g;

/**
 * Returns the pages of a PDF, or more. Readers differ in what they count, so the largest of three
 * numbers is taken: pages, what the trees of pages claim, and what they refer to. A file whose
 * objects cannot be read counts as the longest that a provider takes.
 */
export function pdfPages(bytes: Buffer): number {
  const objects = objectsOf(bytes);
  if (objects === undefined) return PAGES_MAX;
  const text = objects.includes("#") ? objects.replace(ESCAPED, unescaped) : objects;
  const pages = text.match(PAGE)?.length ?? 0;
  let claimed = 0;
  for (const [, count] of text.matchAll(COUNT)) claimed = Math.max(claimed, Number(count));
  let kids = 0;
  for (const [, list = ""] of text.matchAll(KIDS)) kids += list.match(REFERENCE)?.length ?? 0;
  const most = Math.max(pages, claimed, kids);
  return most === 0 ? PAGES_MAX : Math.min(most, PAGES_MAX);
}

function unescaped(code: string): string {
  return String.fromCharCode(Number.parseInt(code.slice(1), 16));
}

/** Returns the text of all objects, without the contents of streams; undefined if some are unreadable. */
function objectsOf(bytes: Buffer): string | undefined {
  if (bytes.includes("/Encrypt") && bytes.includes("/ObjStm")) return undefined;
  const parts: string[] = [];
  let inflated = 0;
  let at = 0;
  for (;;) {
    const stream = bytes.indexOf(STREAM, at);
    if (stream === -1) break;
    const before = bytes.toString("latin1", at, stream);
    parts.push(before);
    const from = stream + STREAM.length;
    const to = bytes.indexOf(END_OF_STREAM, from);
    if (to === -1) break;
    if (before.lastIndexOf("/ObjStm") > before.lastIndexOf("endobj")) {
      const objects = inflate(bytes.subarray(from, to), INFLATED_BYTES_MAX - inflated);
      if (objects === undefined) return undefined;
      inflated += objects.length;
      parts.push(objects);
    }
    at = to + END_OF_STREAM.length;
  }
  parts.push(bytes.toString("latin1", at));
  return parts.join("\n");
}

/** Returns the inflated text of a stream; undefined if it is encoded in another way, or too long. */
function inflate(stream: Buffer, bytesMax: number): string | undefined {
  // A line end follows the keyword.
  const from = stream[0] === 13 ? (stream[1] === 10 ? 2 : 1) : stream[0] === 10 ? 1 : 0;
  if (bytesMax <= 0) return undefined;
  try {
    return inflateSync(stream.subarray(from), {
      maxOutputLength: bytesMax,
      finishFlush: 2,
    }).toString("latin1");
  } catch {
    return undefined;
  }
}
