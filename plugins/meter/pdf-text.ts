import type { Inflation } from "./inflation.ts";
import { streamsOf } from "./pdf-streams.ts";

/** Streams of a PDF that are read. One of 600 pages has some thousands. */
const STREAMS_MAX = 10_000;
/** The longest dictionary of a stream that is read. */
const DICTIONARY_BYTES_MAX = 1_024;
/** Streams that are no text of a page, and encodings that are not read. */
const NOT_READ = new RegExp(
  [
    String.raw`/Subtype\s{0,9}/(?:Image|Type1C|CIDFontType0C|OpenType|XML)\b`,
    String.raw`/(?:Length1|ObjStm|XRef|EmbeddedFile|Alternate)\b`,
    String.raw`/(?:ASCII85|ASCIIHex|LZW|RunLength|DCT|JPX|CCITTFax|JBIG2)Decode\b`,
  ].join("|"),
);

/**
 * Returns the bytes in the strings that the pages of a PDF show, as far as they can be read: a character has one byte, or
 * two. Lines and areas have no strings.
 */
export function shownBytes(bytes: Buffer, inflation: Inflation): number {
  let shown = 0;
  let left = STREAMS_MAX;
  for (const { keyword, from, to } of streamsOf(bytes)) {
    if (left-- === 0) break;
    const before = bytes.toString("latin1", Math.max(0, keyword - DICTIONARY_BYTES_MAX), keyword);
    const dictionary = before.slice(before.lastIndexOf(" obj") + 1);
    if (NOT_READ.test(dictionary)) continue;
    const stream = bytes.subarray(from, to);
    const isPacked = dictionary.includes("/FlateDecode");
    const content = isPacked ? inflation.inflate(stream, "texts") : stream;
    // The strings of a table of characters are codes.
    if (content && !content.includes("begincmap")) shown += bytesInStrings(content);
  }
  return shown;
}

const [OPEN, CLOSE, ESCAPE, LESS, GREATER] = Buffer.from("()\\<>");

/** Counts the bytes in strings: `(text)`, with brackets in pairs or escaped, and `<74657874>`. */
function bytesInStrings(content: Uint8Array): number {
  let bytes = 0;
  let depth = 0;
  for (let at = 0; at < content.length; at++) {
    const byte = content[at];
    if (depth > 0) {
      if (byte === ESCAPE) at++;
      else if (byte === OPEN) depth++;
      else if (byte === CLOSE) depth--;
      if (depth > 0) bytes++;
    } else if (byte === OPEN) depth = 1;
    else if (byte === LESS && content[at + 1] === LESS) at++;
    else if (byte === LESS) {
      const end = content.indexOf(GREATER ?? 0, at);
      if (end === -1) break;
      bytes += (end - at - 1) / 2;
      at = end;
    }
  }
  return Math.ceil(bytes);
}
