import { deflateSync } from "node:zlib";
import t from "tap";
import { familyOverhead } from "../../../plugins/meter/families.ts";
import { type ImageSize, imageSize } from "../../../plugins/meter/image-size.ts";
import { Inflation } from "../../../plugins/meter/inflation.ts";
import {
  addMedia,
  documentTokens,
  hasFiles,
  imageTokens,
  noMedia,
} from "../../../plugins/meter/media.ts";
import { pdfPages } from "../../../plugins/meter/pdf-pages.ts";

const base64 = (...parts: (Buffer | string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part),
    ),
  ).toString("base64");

const u16 = (value: number) => [value >> 8, value & 255];
const u16le = (value: number) => [value & 255, value >> 8];
const u24le = (value: number) => [value & 255, (value >> 8) & 255, value >> 16];
const u32 = (value: number) => [...u16(value >>> 16), ...u16(value & 65_535)];
const PADDING = Buffer.alloc(40);
/** More pages than any provider takes. */
const PAGES_MAX = 1_000;

const frame = (marker: number, width: number, height: number) => [
  ...[0xff, marker, ...u16(17), 8, ...u16(height), ...u16(width), 3],
];

t.test("the size of a JPEG is in its frame, of whatever coding", async (t) => {
  const sizeOf = (...parts: (readonly number[])[]) => imageSize(base64([0xff, 0xd8], ...parts));
  const size = { width: 640, height: 480 };
  for (let marker = 0xb0; marker <= 0xdf; marker += 1) {
    // By ISO 10918-1: tables of Huffman codes, of arithmetic codes, and one that is reserved.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    const found = sizeOf(frame(marker, 640, 480), [...PADDING]);
    t.strictSame(found && { ...found }, isFrame ? size : undefined, marker.toString(16));
  }
  const whole = frame(0xc0, 640, 480);
  t.match(sizeOf(whole), size, "nothing follows");
  t.equal(sizeOf(whole.slice(0, -1)), undefined, "cut in its header");
  t.match(sizeOf([0xff, 0xff], whole), size, "markers may have fill bytes before them");
});

t.test("the size of an image comes from its header", async (t) => {
  const segment = (marker: number, length: number) => [
    ...[0xff, marker, ...u16(length)],
    ...Buffer.alloc(length - 2),
  ];
  const table: [string, string, ImageSize | undefined][] = [
    [
      "PNG",
      base64([0x89], "PNG\r\n\x1a\n", u32(13), "IHDR", u32(4_032), u32(3_024), PADDING),
      { width: 4_032, height: 3_024 },
    ],
    ["GIF", base64("GIF89a", u16le(640), u16le(480), PADDING), { width: 640, height: 480 }],
    [
      "JPEG behind long texts",
      base64(
        [0xff, 0xd8],
        segment(0xe1, 60_000),
        segment(0xc4, 400),
        frame(0xc2, 1_920, 1_080),
        PADDING,
      ),
      { width: 1_920, height: 1_080 },
    ],
    ["JPEG that ends early", base64([0xff, 0xd8], segment(0xe1, 500)), undefined],
    ["JPEG that is none", base64([0xff, 0xd8], PADDING), undefined],
    [
      "WebP with loss",
      base64("RIFF", u32(0), "WEBPVP8 ", u32(0), [0, 0, 0, 0x9d, 1, 0x2a], u16le(550), u16le(368)),
      { width: 550, height: 368 },
    ],
    [
      "WebP without loss",
      base64("RIFF", u32(0), "WEBPVP8L", u32(0), [0x2f, 0xff, 0xc0, 0x3f, 0], PADDING),
      { width: 256, height: 256 },
    ],
    [
      "WebP with more",
      base64("RIFF", u32(0), "WEBPVP8X", u32(0), u32(0), u24le(1_023), u24le(767), PADDING),
      { width: 1_024, height: 768 },
    ],
    [
      "WebP with more, and with bytes behind it",
      base64("RIFF", u32(0), "WEBPVP8X", u32(0), u32(0), u24le(639), u24le(479), [9, 9, 9, 9]),
      { width: 640, height: 480 },
    ],
    [
      "WebP with loss, and a scale in the two highest bits",
      base64("RIFF", u32(0), "WEBPVP8 ", u32(0), [0, 0, 0, 0x9d, 1, 0x2a], [1, 0x41, 2, 0xc1]),
      { width: 257, height: 258 },
    ],
    [
      "WebP cut in its header",
      base64("RIFF", u32(0), "WEBPVP8 ", u32(0), Buffer.alloc(9, 1)),
      undefined,
    ],
    ["WebP of a coding that is none", base64("RIFF", u32(0), "WEBPVP8Z", PADDING), undefined],
    // The smallest file that is a GIF.
    [
      "GIF of 26 bytes",
      base64("GIF89a", u16le(1), u16le(1), Buffer.alloc(16)),
      { width: 1, height: 1 },
    ],
    ["GIF of 25", base64("GIF89a", u16le(1), u16le(1), Buffer.alloc(15)), undefined],
    ["a height of 0", base64("GIF89a", u16le(640), u16le(0), PADDING), undefined],
    ["a size of 0", base64("GIF89a", u16le(0), u16le(480), PADDING), undefined],
    ["no image", base64("hello, world, this is not an image at all"), undefined],
    ["nothing", "", undefined],
  ];
  for (const [what, data, size] of table) {
    const found = imageSize(data);
    t.strictSame(found && { ...found }, size, what);
  }
});

/** Measured by count_tokens and by usage, less the text of the request. */
t.test("an image is held for what a provider counts, and at most twice that", async (t) => {
  const table: [string, number, number, number][] = [
    ["claude-opus-5-5", 256, 256, 100],
    ["claude-opus-5-5", 1_024, 1_024, 1_369],
    ["claude-opus-5-5", 1_920, 1_080, 2_691],
    ["claude-opus-5-5", 4_032, 3_024, 3_928],
    ["gemini-3.5-flash", 1_024, 1_024, 1_090],
    ["gemini-3.5-flash", 4_032, 3_024, 1_065],
    ["gpt-5.5", 512, 512, 308],
    ["gpt-5.5", 1_920, 1_080, 2_448],
    ["gpt-5.5", 4_032, 3_024, 11_868],
    ["gpt-4o", 1_024, 1_024, 765],
    ["gpt-4o-mini", 512, 512, 8_500],
    ["gpt-4.1-nano", 1_024, 1_024, 2_520],
    ["grok-4.3", 448, 448, 512],
  ];
  for (const [name, width, height, counted] of table) {
    const tokens = imageTokens({ width, height }, familyOverhead(name).image);
    t.ok(tokens >= counted && tokens <= 2 * counted, `${name} ${width}x${height}: ${tokens}`);
  }
});

const page = (at: number) => `${at} 0 obj\n<</Type /Page/Parent 2 0 R>>\nendobj\n`;
const pagesOf = (count: number) => Array.from({ length: count }, (_, at) => page(at + 3)).join("");
const tree = (count: number) => `2 0 obj\n<</Type/Pages/Count ${count}/Kids[3 0 R]>>\nendobj\n`;
const objects = (text: string, dictionary = "") => {
  const packed = deflateSync(Buffer.from(text, "latin1")).toString("latin1");
  return `9 0 obj\n<</Type/ObjStm/Filter/FlateDecode${dictionary}>>stream\r\n${packed}\nendstream\nendobj\n`;
};

t.test("the pages of a PDF are counted", async (t) => {
  const table: [string, string, number][] = [
    ["pages", `%PDF-1.4\n${tree(1)}${pagesOf(7)}`, 7],
    ["a tree that claims more", `%PDF-1.4\n${tree(12)}${pagesOf(1)}`, 12],
    ["one page that a tree has often", `%PDF\n<</Kids[${"3 0 R ".repeat(80)}]>>${pagesOf(1)}`, 80],
    ["compressed objects", `%PDF-1.5\n${objects(tree(3) + pagesOf(31))}`, 31],
    ["names in disguise", `%PDF\n${"<</#54ype/#50age>>".repeat(5)}`, 5],
    ["pages in the text of a stream", `%PDF\n${page(3)}<<>>stream\n${pagesOf(50)}endstream`, 1],
    ["encrypted objects", `%PDF\n<</Encrypt 5 0 R>>${page(3)}${objects(pagesOf(1))}`, PAGES_MAX],
    [
      "objects that cannot be read",
      "%PDF\n1 0 obj<</Type/ObjStm>>stream\nxx\nendstream",
      PAGES_MAX,
    ],
    ["a bomb", `%PDF\n${page(3)}${objects(" ".repeat(17 * 1_048_576))}`, PAGES_MAX],
    ["no pages at all", "hello", PAGES_MAX],
    ["lists that do not end", `%PDF\n${page(3)}${"/Kids[".repeat(500_000)}`, PAGES_MAX],
    ["names that are all disguised", `%PDF\n${page(3)}${"#41".repeat(500_000)}`, PAGES_MAX],
    ["as many disguised names as are read", `%PDF\n${page(3)}${"#41".repeat(10_000)}`, 1],
    ["one more", `%PDF\n${page(3)}${"#41".repeat(10_001)}`, PAGES_MAX],
    ["two lists", `%PDF\n<</Kids[3 0 R 4 0 R]>><</Kids[5 0 R]>>${pagesOf(1)}`, 3],
    ["lists without a page", `%PDF\n${"<</Kids[]>>".repeat(3)}${pagesOf(1)}`, 1],
    ["a list within a list", `%PDF\n<</Kids[<</Kids[3 0 R]>>]>>${pagesOf(1)}`, PAGES_MAX],
    ["trees that claim less and less", `%PDF\n${tree(5)}${tree(4)}`, 5],
    ["encrypted pages, which can be counted", `%PDF\n<</Encrypt 5 0 R>>${pagesOf(2)}`, 2],
    ["a stream before any object", `%PDF\n<<>>stream\nxx\nendstream\n${pagesOf(2)}`, 2],
    ["a stream that does not end", `%PDF\n${pagesOf(4)}<<>>stream\nxx`, 4],
    ["more pages than any provider takes", `%PDF\n${tree(999_999)}`, PAGES_MAX],
  ];
  for (const [what, text, pages] of table) {
    t.equal(pdfPages(Buffer.from(text, "latin1"), new Inflation()), pages, what);
  }
});

t.test("objects of a PDF are inflated behind any line end, up to 4 MB", async (t) => {
  const packed = (text: string, lineEnd: string) => {
    const stream = deflateSync(Buffer.from(text, "latin1")).toString("latin1");
    return `9 0 obj<</Type/ObjStm>>stream${lineEnd}${stream}\nendstream endobj\n`;
  };
  const count = (...texts: string[]) => {
    const inflation = new Inflation();
    return texts.map((text) => pdfPages(Buffer.from(`%PDF\n${text}`, "latin1"), inflation));
  };
  for (const lineEnd of ["\r\n", "\n", "\r", ""]) {
    t.strictSame(count(packed(pagesOf(3), lineEnd)), [3], JSON.stringify(lineEnd));
  }
  const most = pagesOf(3).padEnd(4 * 1_048_576);
  t.strictSame(count(packed(most, "\n")), [3]);
  t.strictSame(count(packed(`${most} `, "\n")), [PAGES_MAX]);
  const small = packed(pagesOf(2), "\n");
  t.strictSame(count(packed(most, "\n"), small), [3, PAGES_MAX], "nothing is left");
  t.strictSame(count("<</Type/ObjStm>>stream\nxx\nendstream", small), [PAGES_MAX, PAGES_MAX]);
  const [head = "", tail = ""] = packed(pagesOf(2), "\n").split("\nendstream");
  t.strictSame(count(`${head.slice(0, -4)}\nendstream${tail}`), [2], "without its check sum");
});

t.test("tiny objects of a PDF have an end too", async (t) => {
  const tiny = objects("").repeat(8_192);
  const count = (text: string) => pdfPages(Buffer.from(`%PDF\n${text}`, "latin1"), new Inflation());
  t.equal(count(page(3) + tiny), 1);
  t.equal(count(page(3) + tiny + objects("")), PAGES_MAX);
});

t.test("a request has files if it has any kind of them", async (t) => {
  const { inflation: _, ...none } = noMedia();
  t.equal(hasFiles(none), false);
  for (const name of ["pages", "pdfBytes", "officeBytes", "otherBytes", "audioSeconds"]) {
    t.equal(hasFiles({ ...none, [name]: 1 }), true, name);
  }
  t.equal(hasFiles({ ...none, images: [undefined] }), true);
});

t.test("a PDF of 600 nearly empty pages is held by its pages, not by its bytes", async (t) => {
  const media = noMedia();
  addMedia("application/pdf", base64(`%PDF-1.4\n${tree(600)}${pagesOf(600)}`), media);
  const tokens = documentTokens(media, familyOverhead("claude-opus-5-5"));
  // An empty page is an image of some 1,600 tokens there.
  t.ok(tokens > 600 * 1_600 && tokens < 600 * 2_000, String(tokens));
});

t.test("small PDFs cannot make a request inflate more than a little together", async (t) => {
  const inflation = new Inflation();
  const one = Buffer.from(`%PDF\n${objects(pagesOf(2) + " ".repeat(3_000_000))}`, "latin1");
  t.strictSame([pdfPages(one, inflation), pdfPages(one, inflation)], [2, PAGES_MAX]);
});

t.test("office documents count by their size, whatever type they state", async (t) => {
  const zip = `UEsD${"A".repeat(9_996)}`;
  const office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
  for (const type of [office, "application/zip", "application/octet-stream", ""]) {
    const media = noMedia();
    t.equal(addMedia(type, zip, media), undefined, type);
    t.equal(documentTokens(media, familyOverhead("gpt-5.6")), 2_500, type);
  }
  t.equal(addMedia("application/json", base64("{}"), noMedia()), "{}");
});
