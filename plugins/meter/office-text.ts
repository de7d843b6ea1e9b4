import { inflateRawSync } from "node:zlib";
import type { Inflation, Unpack } from "./inflation.ts";

/** The signature of the record at the end of a zip file, and of an entry in its directory. APPNOTE.TXT 4.3. */
const END = Buffer.from("PK\x05\x06", "latin1");
const ENTRY = 0x02014b50;
const [END_BYTES, ENTRY_BYTES, HEAD_BYTES] = [22, 46, 30];
const [STORED, DEFLATED] = [0, 8];

const MARKUP = /\.(?:xml|rels|x?html?)$/i;
/** Pictures, which no provider takes from an office document, and fonts. */
const UNREAD = /(?:^|\/)(?:media|pictures|fonts)\//i;
/** Assumed: what a part of markup holds of text, if it is too long to read. */
const TEXT_SHARE = 1 / 5;
const CDATA = "<![CDATA[";

interface OfficeText {
  readonly text: string;
  /** Bytes of parts that may hold text and were not read. */
  unreadBytes: number;
}

/** An entry in the directory of a zip file. */
interface Entry {
  readonly name: string;
  readonly method: number;
  readonly packedBytes: number;
  /** As the file states it. */
  readonly bytes: number;
  readonly head: number;
}

/** Returns the text of an office document, which is a zip file of markup; undefined if it is none. */
export function officeText(zip: Buffer, inflation: Inflation): OfficeText | undefined {
  const entries = entriesOf(zip);
  if (!entries) return undefined;
  const texts: string[] = [];
  let unreadBytes = 0;
  for (const entry of entries) {
    const { name, packedBytes, bytes } = entry;
    const isMarkup = MARKUP.test(name);
    const markup = isMarkup ? contentOf(zip, entry, inflation) : undefined;
    if (markup) texts.push(textOf(markup.toString()));
    else if (isMarkup) unreadBytes += Math.max(packedBytes, bytes * TEXT_SHARE);
    else if (!UNREAD.test(name)) unreadBytes += packedBytes;
  }
  return { text: texts.join(" "), unreadBytes };
}

/** Reads the directory of a zip file; undefined if it has none, or one that is broken. */
function entriesOf(zip: Buffer): Entry[] | undefined {
  const end = zip.lastIndexOf(END);
  if (end === -1 || end + END_BYTES > zip.length) return undefined;
  const entries: Entry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (at + ENTRY_BYTES > zip.length || zip.readUInt32LE(at) !== ENTRY) return undefined;
    const named = at + ENTRY_BYTES;
    const nameBytes = zip.readUInt16LE(at + 28);
    entries.push({
      name: zip.toString("latin1", named, named + nameBytes),
      method: zip.readUInt16LE(at + 10),
      packedBytes: zip.readUInt32LE(at + 20),
      bytes: zip.readUInt32LE(at + 24),
      head: zip.readUInt32LE(at + 42),
    });
    at = named + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}

function contentOf(zip: Buffer, entry: Entry, inflation: Inflation): Buffer | undefined {
  const { head, method, packedBytes } = entry;
  if (head + HEAD_BYTES > zip.length) return undefined;
  const from = head + HEAD_BYTES + zip.readUInt16LE(head + 26) + zip.readUInt16LE(head + 28);
  const packed = zip.subarray(from, from + packedBytes);
  // Bytes as they are count too: thousands of entries may name the same ones.
  if (method === STORED) return inflation.inflate(packed, "texts", asItIs);
  return method === DEFLATED ? inflation.inflate(packed, "texts", inflateRawSync) : undefined;
}

const asItIs: Unpack = (bytes, { maxOutputLength }) => {
  if (bytes.length > maxOutputLength) throw new RangeError("more than may be read");
  return bytes;
};

/** Returns the text between the tags of markup. */
function textOf(markup: string): string {
  const texts: string[] = [];
  for (let at = 0; at < markup.length; ) {
    const tag = markup.indexOf("<", at);
    const until = tag === -1 ? markup.length : tag;
    if (until > at) texts.push(markup.slice(at, until));
    const end = markup.startsWith(CDATA, until)
      ? until + CDATA.length - 1
      : markup.indexOf(">", until);
    if (end === -1) break;
    at = end + 1;
  }
  return texts.join(" ");
}
