import t from "tap";
import { audioSeconds } from "../../../plugins/meter/audio-seconds.ts";
import {
  base64,
  bytesOf,
  format,
  HEADS,
  type Part,
  page,
  u32le,
  type WaveFormat,
  wave,
} from "./audio-files.ts";

// 128 kbit/s at 44,100: 417 bytes of 26 ms.
const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413)]);
const mp3 = (frames: number, head: Part = "", tail: Part = "") =>
  base64(head, Buffer.concat(Array.from({ length: frames }, () => frame)), tail);

t.test("audio counts in chunks of 30 seconds: one byte more begins the next", async (t) => {
  const table: [what: string, format: string, bytes: number][] = [
    ["an unknown codec at 750 bytes a second", "flac", 30 * 750],
    ["samples at 16,000", "pcm16", 30 * 16_000],
  ];
  for (const [what, format, bytes] of table) {
    t.equal(audioSeconds(base64(Buffer.alloc(bytes)), format), 30, what);
    t.equal(audioSeconds(base64(Buffer.alloc(bytes + 1)), format), 60, `${what}, and one more`);
  }
});

t.test("a wave is believed up to 192,000 samples, 8 channels and 64 bits", async (t) => {
  const table: [WaveFormat, isBelieved: boolean][] = [
    [{ samplesPerSecond: 192_000, bytesPerSample: 1, bits: 8 }, true],
    [{ samplesPerSecond: 192_001, bytesPerSample: 1, bits: 8 }, false],
    [{ channels: 8, bytesPerSample: 8, bits: 8 }, true],
    [{ channels: 9, bytesPerSample: 9, bits: 8 }, false],
    [{ bytesPerSample: 8, bits: 64 }, true],
    [{ channels: 8, bytesPerSample: 65, bits: 65 }, false],
  ];
  for (const [stated, isBelieved] of table) {
    const seconds = audioSeconds(wave(30_000, format(stated)), "wav");
    t.equal(seconds, isBelieved ? 30 : 60, JSON.stringify(stated));
  }
});

t.test("a wave whose chunks cannot be read is as slow as speech can be", async (t) => {
  const head = bytesOf(["RIFF", u32le(0), "WAVE"]);
  const speech = bytesOf(["data", u32le(30_000), Buffer.alloc(30_000)]);
  const chunks = (count: number) =>
    bytesOf(Array.from({ length: count }, () => bytesOf(["LIST", u32le(0)])));
  const short = bytesOf(["fmt ", u32le(15), format({}).subarray(8, 24)]);
  const table: [what: string, seconds: number, ...Part[]][] = [
    ["1,000 chunks", 30, chunks(998), format({}), speech],
    ["1,001 chunks", 60, chunks(999), format({}), speech],
    ["a format of 15 bytes", 60, short, speech],
    ["no format", 60, speech],
    ["no speech", 60, format({}), "junk", u32le(30_000), Buffer.alloc(30_000)],
    ["speech cut after its name", 60, "LIST", u32le(30_000), Buffer.alloc(30_000), "data"],
  ];
  for (const [what, seconds, ...parts] of table) {
    t.equal(audioSeconds(base64(head, ...parts), "wav"), seconds, what);
  }
});

t.test("an MP3 has its sample rate, to the hertz", async (t) => {
  // MPEG-2 at 8 kbit/s. The frames are just more than the seconds.
  const table: [hertz: number, bits: number, frames: number, seconds: number][] = [
    [22_050, 0, 20_672, 540],
    [24_000, 1, 48_751, 1_170],
    [16_000, 2, 11_667, 420],
  ];
  for (const [hertz, bits, frames, seconds] of table) {
    const one = bytesOf([[0xff, 0xf3, 0x10 | (bits << 2), 0]]);
    const length = Math.floor((72 * 8_000) / hertz);
    const all = Buffer.alloc(length * frames);
    for (let at = 0; at < all.length; at += length) one.copy(all, at);
    t.equal(audioSeconds(all.toString("base64"), "mp3"), seconds + 30, String(hertz));
  }
});

t.test("MP3 may have a tag before its frames and one of 128 bytes after them", async (t) => {
  const tagOf = (size: readonly number[], bytes: number) =>
    bytesOf(["ID3", [4, 0, 0], size, Buffer.alloc(bytes)]);
  const slow = (bytes: number) => Math.ceil((417_000 + bytes) / 750 / 30) * 30;
  const table: [what: string, seconds: number, head: Part, tail: Part][] = [
    ["a tag of 3 bytes", 30, tagOf([0, 0, 0, 3], 3), ""],
    ["a tag of 257 bytes", 30, tagOf([0, 0, 2, 1], 257), ""],
    ["a tag of 16,384 bytes", 30, tagOf([0, 1, 0, 0], 16_384), ""],
    ["a tag of 2 MB", 30, tagOf([1, 0, 0, 0], 2_097_152), ""],
    ["a tag of 128 bytes at the end", 30, "", bytesOf(["TAG", Buffer.alloc(125)])],
    ["one of 129", slow(129), "", bytesOf(["TAG", Buffer.alloc(126)])],
    [
      "bytes that only end as a frame begins",
      slow(200),
      "",
      bytesOf([[0, 0xfb, 0x90, 0], Buffer.alloc(196)]),
    ],
    [
      "bytes that only begin as one",
      slow(200),
      "",
      bytesOf([[0xff, 0x1b, 0x90, 0], Buffer.alloc(196)]),
    ],
  ];
  for (const [what, seconds, head, tail] of table) {
    t.equal(audioSeconds(mp3(1_000, head, tail), "mp3"), seconds, what);
  }
});

/** Packets in as many pages as they need. */
function opusOf(packet: Part, count: number): number {
  const parts: Buffer[] = [HEADS];
  for (let left = count; left > 0; left -= 255)
    parts.push(page(Array(Math.min(left, 255)).fill(packet)));
  return audioSeconds(base64(...parts), "ogg");
}

t.test("Opus packets last what RFC 6716 says", async (t) => {
  const silk = [10, 20, 40, 60];
  const hybrid = [10, 20];
  const celt = [2.5, 5, 10, 20];
  const frames = [
    ...silk,
    ...silk,
    ...silk,
    ...hybrid,
    ...hybrid,
    ...celt,
    ...celt,
    ...celt,
    ...celt,
  ];
  const table: [packet: Part, ms: number][] = frames.map((ms, config) => [[config << 3], ms]);
  const of20 = 1 << 3;
  table.push([[of20 | 1], 40], [[of20 | 2], 40], [[of20 | 3, 5], 100], [[of20 | 3, 64 | 5], 100]);
  for (const [packet, ms] of table) {
    t.equal(opusOf(packet, 30_000 / ms), 30, `${packet}`);
    t.equal(opusOf(packet, 30_000 / ms + 1), 60, `${packet}, and one more`);
  }
});

t.test(
  "an Opus packet of several segments is one, and so is its rest in the next page",
  async (t) => {
    const segments = (...sizes: number[]) =>
      bytesOf([
        page([]).subarray(0, 26),
        [sizes.length],
        sizes,
        ...sizes.map((size) => Buffer.alloc(size, 1 << 3)),
      ]);
    const seconds = (each: Buffer, count: number) =>
      audioSeconds(base64(HEADS, ...Array<Buffer>(count).fill(each)), "ogg");
    for (const [each, packets] of [
      [segments(255, 255, 10), 1],
      [segments(255, 0), 1],
      [segments(10, 255), 2],
      [segments(255, 10, 254), 2],
    ] as const) {
      const pages = 1_500 / packets;
      t.strictSame([seconds(each, pages), seconds(each, pages + 1)], [30, 60]);
    }
  },
);
