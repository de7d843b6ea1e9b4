import { deflateRawSync, deflateSync } from "node:zlib";
import t from "tap";
import { familyOverhead } from "../../../plugins/meter/families.ts";
import { addMedia, documentTokens, type Media, noMedia } from "../../../plugins/meter/media.ts";

const TEXT = "a long story of words ".repeat(10_000);
const MEGABYTE = 1_048_576;

/** Adds files to one request. Returns what they hold of text, and the other numbers. */
function add(...files: readonly (readonly [type: string, file: Buffer | string])[]) {
  const media: Media = noMedia();
  const texts = files.map(([type, file]) =>
    addMedia(type, Buffer.from(file as string, "latin1").toString("base64"), media),
  );
  return { texts, media };
}

t.test("a file that begins as a text is one, whatever its type", async (t) => {
  for (const type of ["application/javascript", "application/octet-stream", "video/mp4", ""]) {
    t.strictSame(add([type, "const a = 1;"]).texts, ["const a = 1;"], type);
  }
  const cut = Buffer.from(`${"a".repeat(1_025)}đ`);
  t.strictSame(add(["", cut]).texts, [cut.toString()], "a character that the sample cuts");
  for (const type of ["", "text/plain"]) {
    const utf16 = () => Buffer.from("\ufeffđẹp", "utf16le");
    t.strictSame(add([type, utf16()]).texts, ["đẹp"], "UTF-16");
    t.strictSame(add([type, utf16().swap16()]).texts, ["đẹp"], "and its other order");
  }
  const others: readonly Buffer[] = [
    Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x01, 0, 0, 0]),
    Buffer.from("ftyp\0\0\0 a text"),
    Buffer.from([0xff, 0xfb, 0x90]),
    Buffer.from([0xfe]),
    Buffer.alloc(0),
  ];
  for (const file of others) {
    const { texts, media } = add(["video/mp4", file]);
    t.strictSame([texts, media.otherBytes], [[undefined], file.toString("base64").length]);
  }
});

/** A part of a zip file: its name, its contents, and how it is packed if that is not usual. */
type Part = readonly [
  name: string,
  content: string | Buffer,
  as?: { method?: number; bytes?: number },
];

function zip(...parts: readonly Part[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, content, { method = 8, bytes = content.length } = {}] of parts) {
    const packed = method === 8 ? deflateRawSync(content) : Buffer.from(content as string);
    const head = Buffer.alloc(30);
    head.write("PK\x03\x04", "latin1");
    head.writeUInt16LE(name.length, 26);
    head.writeUInt16LE(4, 28);
    const file = Buffer.concat([head, Buffer.from(`${name}more`), packed]);
    const entry = Buffer.alloc(46);
    entry.write("PK\x01\x02", "latin1");
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(bytes, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(2, 30);
    entry.writeUInt16LE(3, 32);
    entry.writeUInt32LE(at, 42);
    directory.push(entry, Buffer.from(`${name}12123`));
    files.push(file);
    at += file.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, ...directory, end]);
}

const OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const office = (...parts: readonly Part[]) => {
  const { texts, media } = add([OFFICE, zip(...parts)]);
  return [texts[0], media.officeBytes];
};

t.test("an office document is the text in its markup", async (t) => {
  const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
  const document = `<?xml version="1.0"?><w:p>${run("One")}${run("two.")}</w:p>`;
  const random = Buffer.from(Array.from({ length: 3_000 }, (_, at) => (at * 7_919) % 251));
  t.strictSame(office(["word/document.xml", document]), ["One two.", 0]);
  t.strictSame(office(["word/document.xml", document, { method: 0 }]), ["One two.", 0]);
  t.strictSame(office(["Chapter.XHTML", "a<b>c"], ["content.xml", "d"]), ["a c d", 0]);
  t.strictSame(office(["a.xml", "<t><![CDATA[a long text]]></t>b<c"]), ["a long text]]> b", 0]);
  t.strictSame(office(["a.xml", "a"], ["word/media/a.png", random]), ["a", 0], "pictures");
  const stored = { method: 0 };
  t.strictSame(office(["a.xml", "a"], ["a.bin", random, stored]), ["a", 4_000], "other parts");
  t.equal(office(["a.xml", `<t>${TEXT}`])[0], TEXT, "a text that packs well");
});

t.test("an office document that cannot be read counts by its size", async (t) => {
  const long = `<t>${"a".repeat(4 * MEGABYTE)}`;
  const shareOf = (bytes: number) => Math.ceil((bytes * 4) / 3 / 5);
  t.strictSame(office(["a.xml", long]), ["", shareOf(long.length)], "too long to read");
  t.strictSame(office(["a.xml", "a", { method: 9 }]), ["", 2], "packed in another way");
  const whole = zip(["a.xml", "a"]);
  const unreadable: readonly Buffer[] = [
    whole.subarray(0, -1),
    whole.subarray(0, -22),
    zip(["a.xml", "a"]).fill(0, 30 + 5 + 4 + 3, 30 + 5 + 4 + 7),
  ];
  for (const file of unreadable) {
    const { texts, media } = add([OFFICE, file]);
    t.strictSame([texts, media.officeBytes], [[undefined], file.toString("base64").length]);
  }
  const lost = Buffer.from(whole);
  lost.writeUInt32LE(999_999, lost.length - 22 - 5 - 5 - 4);
  t.equal(add([OFFICE, lost]).texts[0], "", "an entry without a file");
});

t.test("entries that name the same bytes are not read again and again", async (t) => {
  const stored = { method: 0 };
  const tiny = Array.from({ length: 500 }, (): Part => ["a.xml", "a", stored]);
  const file = zip(...tiny, ["b.xml", "a".repeat(MEGABYTE), stored]);
  const entry = Buffer.from("PK\x01\x02", "latin1");
  for (let at = file.indexOf(entry); at !== -1; at = file.indexOf(entry, at + 1)) {
    file.writeUInt32LE(MEGABYTE, at + 20);
  }
  const { texts, media } = add([OFFICE, file]);
  t.ok((texts[0]?.length ?? 0) < 5 * MEGABYTE, `${texts[0]?.length}`);
  t.ok(media.officeBytes > 0, "the others count by their size");
});

const CLAUDE = familyOverhead("claude-opus-5-5");
const tokensOf = (content: string, dictionary = "", overhead = CLAUDE) => {
  const isPacked = !dictionary.includes("Filter");
  const packed = isPacked
    ? deflateSync(Buffer.from(content, "latin1")).toString("latin1")
    : content;
  const filter = isPacked ? "/Filter/FlateDecode" : "";
  const page = "3 0 obj\n<</Type /Page/Parent 2 0 R>>\nendobj\n";
  const stream = `4 0 obj\n<<${dictionary}${filter}>>stream\n${packed}\nendstream\nendobj\n`;
  const { media } = add(["application/pdf", `%PDF-1.4\n${page}${stream}`]);
  return documentTokens(media, overhead);
};

t.test("the text of a PDF counts beyond what a page usually holds", async (t) => {
  const tokens = TEXT.length / 3;
  const most = tokens + CLAUDE.page + 10;
  const hex = Buffer.from(TEXT).toString("hex");
  const table: readonly (readonly [string, string, string?])[] = [
    ["a string", `BT (${TEXT}) Tj ET`],
    [
      "strings and their distances",
      `BT [${TEXT.match(/.{10}/g)?.map((part) => `(${part})-250`)}] TJ ET`,
    ],
    ["brackets within", `(${TEXT}(a)\\)\\(b) Tj (c) Tj`],
    ["codes in hex", `/P <</MCID 0>> BDC <${hex}> Tj`],
    ["a page that is not packed", `(${TEXT}) Tj`, "/Filter[]"],
  ];
  for (const [what, content, dictionary] of table) {
    const found = tokensOf(content, dictionary);
    t.ok(found > tokens && found < most, `${what}: ${found} against ${tokens}`);
  }
});

t.test("what is no text of a PDF counts as a page at most", async (t) => {
  const lines = "1 0 0 RG 10 10 m 20 20 l S\n".repeat(10_000);
  const most = CLAUDE.page + CLAUDE.page_text;
  const table: readonly (readonly [string, string, string?])[] = [
    ["lines", lines],
    ["a picture", `(${TEXT})`, "/Subtype /Image"],
    ["a font", `(${TEXT})`, "/Length1 900"],
    ["a table of characters", `begincmap ${"<0001> <0041>\n".repeat(10_000)}`],
    ["codes that do not end", `<${"41".repeat(10_000)}`],
    ["a string in another encoding", `(${TEXT})`, "/Filter[/ASCII85Decode/FlateDecode]"],
    ["a stream that is too long", `(${"a".repeat(4 * MEGABYTE)})`],
    [
      "a text behind thousands of streams",
      `${"endstream\nstream\n".repeat(10_000)}(${TEXT})`,
      "/Filter[]",
    ],
  ];
  for (const [what, content, dictionary] of table) {
    const found = tokensOf(content, dictionary);
    t.ok(found >= CLAUDE.page && found <= most, `${what}: ${found}`);
  }
  const gemini = familyOverhead("gemini-3.5-flash");
  t.equal(tokensOf(`(${TEXT})`, "", gemini), gemini.page, "a model that reads pages as pictures");
});
