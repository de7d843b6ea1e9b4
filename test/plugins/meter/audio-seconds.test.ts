import t from "tap";
import { audioSeconds } from "../../../plugins/meter/audio-seconds.ts";
import {
  base64,
  bytesOf,
  format,
  HEADS,
  LONG,
  type Part,
  page,
  pages,
  SHORT,
  u32le,
  type WaveFormat,
  wave,
} from "./audio-files.ts";

// 128 kbit/s at 44,100: 417 bytes of 26 ms.
const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(413)]);
const mp3 = (frames: number, head: Part = "", tail: Part = "") =>
  base64(head, Buffer.concat(Array.from({ length: frames }, () => frame)), tail);
const TAG = bytesOf(["ID3", [4, 0, 0, 0, 0, 0, 10], Buffer.alloc(10)]);

t.test("the length of audio comes from its codec", async (t) => {
  const table: [string, string, string, number][] = [
    ["a wave of 45 seconds", wave(45 * 48_000, format({})), "wav", 60],
    ["one with other chunks", wave(45 * 48_000, "LIST", u32le(3), "fmt ", format({})), "wav", 60],
    ["MP3 of 52 seconds", mp3(2_000), "audio/mp3", 60],
    ["MP3 with tags", mp3(1_000, TAG, "TAG"), "mpeg", 30],
    ["MP3 that is none: as slow as speech can be", base64(Buffer.alloc(75_000)), "mp3", 120],
    ["Opus of 50 seconds", base64(HEADS, pages(50, SHORT, 2_400_000)), "ogg", 60],
    ["samples without a header", base64(Buffer.alloc(480_000)), "pcm16", 30],
    ["an unknown codec", base64(Buffer.alloc(7_500)), "flac", 30],
    ["nothing", "", "mp3", 0],
  ];
  for (const [what, data, format, seconds] of table) {
    t.equal(audioSeconds(data, format), seconds, what);
  }
});

t.test("a wave cannot look shorter than it is by the bytes a second that it states", async (t) => {
  const bytes = 750 * 600;
  const odd: readonly WaveFormat[] = [
    { bytesPerSecond: 4_000_000_000 },
    { bytesPerSecond: 48_001 },
    { bits: 65_528 },
    { bytesPerSample: 65_535, bits: 65_528, bytesPerSecond: 4_000_000_000 },
    { samplesPerSecond: 2_000_000_000, bytesPerSecond: 4_000_000_000 },
    { channels: 65_535, bytesPerSample: 65_535, bits: 8 },
    { bits: 0, bytesPerSample: 0, bytesPerSecond: 0 },
  ];
  for (const stated of odd) {
    t.equal(audioSeconds(wave(bytes, format(stated)), "wav"), 630, JSON.stringify(stated));
  }
  const slow = { samplesPerSecond: 100, bytesPerSecond: 4_000_000_000 };
  t.equal(audioSeconds(wave(bytes, format(slow)), "wav"), 2_280, "slower than any speech");
  const two = [format({ bytesPerSecond: 4_000_000 }), format({})];
  t.equal(audioSeconds(wave(bytes, ...two), "wav"), 630, "two formats");
  const hidden = ["LIST", u32le(24), format({ channels: 8, bytesPerSample: 16 })];
  const short = { samplesPerSecond: 1_000 };
  t.equal(audioSeconds(wave(bytes, ...hidden, format(short)), "wav"), 240, "a hidden one");
});

t.test("Opus cannot look shorter than it is by the samples that it states", async (t) => {
  const opus = (...parts: Buffer[]) => audioSeconds(base64(...parts), "ogg");
  t.equal(opus(HEADS, pages(100, LONG, 48_000)), 600, "packets of one byte");
  t.equal(opus(HEADS, pages(100, "", 48_000)), 600, "packets without a byte");
  t.equal(opus(HEADS, pages(100, [3, 63], 1)), 600, "packets of many frames");
  const around = Buffer.alloc(600, 255);
  around.write("OggS");
  t.equal(opus(HEADS, around, pages(100, LONG, 0)), 630, "pages inside of another");
  const other = page(["OpusHead"], 0, 2);
  t.equal(opus(HEADS, other, Buffer.alloc(75_000)), 120, "a second stream");
  const vorbis = page(["\u0001vorbis"], 48_000, 2);
  t.equal(opus(vorbis, Buffer.alloc(75_000)), 120, "another codec");
});

t.test("a hostile Ogg file is not read further than a day of audio", async (t) => {
  const seconds = audioSeconds(base64(HEADS, Buffer.alloc(4_000_000, "OggS")), "ogg");
  t.ok(seconds >= 86_400 && seconds <= 86_430, String(seconds));
});

t.test("Opus of more than a day is a day", async (t) => {
  const day = pages(14_400, LONG, 0);
  t.equal(audioSeconds(base64(HEADS, day, pages(100, LONG, 0)), "ogg"), 86_400);
});

t.test("frames of another layer are not taken for MP3", async (t) => {
  const second = bytesOf([[0xff, 0xfd, 0x90, 0], Buffer.alloc(413)]);
  const data = base64(...Array.from({ length: 1_000 }, () => second));
  t.equal(audioSeconds(data, "mp3"), Math.ceil(417_000 / 750 / 30) * 30);
});

t.test("MP3 of every bit rate is as long as its frames", async (t) => {
  const first = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
  const later = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
  /** The bits of the version in a header, how many times slower its samples are than MPEG-1's, and its rates. */
  const versions: [string, number, number, number, readonly number[]][] = [
    ["MPEG-1", 0xfb, 1, 1_152, first],
    ["MPEG-2", 0xf3, 2, 576, later],
    ["MPEG-2.5", 0xe3, 4, 576, later],
  ];
  for (const [name, second, times, samples, kbits] of versions) {
    for (const [at, kbit] of kbits.entries()) {
      for (const [bits, hertz] of (at === 8 ? [44_100, 48_000, 32_000] : [44_100]).entries()) {
        const rate = hertz / times;
        const head = [0xff, second, ((at + 1) << 4) | (bits << 2), 0];
        const rest = Buffer.alloc(Math.floor((samples * 125 * kbit) / rate) - 4);
        const one = bytesOf([head, rest]);
        const count = Math.ceil((31 * rate) / samples);
        const data = base64(...Array.from({ length: count }, () => one));
        t.equal(audioSeconds(data, "mp3"), 60, `${name}, ${kbit} kbit/s, ${rate} Hz`);
      }
    }
  }
});

t.test("MP3 with padded frames is as long as its frames", async (t) => {
  // A bit in the header says that a frame has a byte more.
  const padded = bytesOf([[0xff, 0xfb, 0x92, 0], Buffer.alloc(414)]);
  const both = bytesOf([padded, frame]);
  const data = base64(...Array.from({ length: 600 }, () => both));
  t.equal(audioSeconds(data, "mp3"), 60);
});

t.test("MP3 of no bit rate, or of no sample rate, is as slow as speech can be", async (t) => {
  for (const bits of [0x00, 0xf0, 0x9c]) {
    const one = bytesOf([[0xff, 0xfb, bits, 0], Buffer.alloc(413)]);
    const data = base64(...Array.from({ length: 200 }, () => one));
    t.equal(audioSeconds(data, "mp3"), Math.ceil((200 * 417) / 750 / 30) * 30, String(bits));
  }
});

t.test("a tag without a frame is no MP3", async (t) => {
  for (const tag of [
    TAG,
    TAG.subarray(0, 10),
    "ID3",
    "ID",
    bytesOf(["ID3", [4, 0, 0, 127, 127]]),
  ]) {
    t.equal(audioSeconds(base64(tag), "mp3"), 30);
  }
});

t.test("the header of a wave has 44 bytes, and speech follows it", async (t) => {
  const slow = { samplesPerSecond: 1, bytesPerSample: 1, bits: 7, bytesPerSecond: 2 };
  t.equal(audioSeconds(wave(1, format(slow)), "wav"), 60, "45 bytes at 7 bits a second");
  t.equal(audioSeconds(wave(0, format(slow)), "wav"), 30, "no speech");
});

t.test("a wave of a byte a second is as long as it has bytes", async (t) => {
  const slow = { samplesPerSecond: 1, bytesPerSample: 1, bits: 7, bytesPerSecond: 2 };
  const bytes = 44 + 1_000;
  t.equal(audioSeconds(wave(1_000, format(slow)), "wav"), Math.ceil(bytes / (7 / 8) / 30) * 30);
  const odd = { samplesPerSecond: 1, bytesPerSample: 1, bits: 16, bytesPerSecond: 2 };
  t.equal(audioSeconds(wave(1_000, format(odd)), "wav"), Math.ceil(bytes / 30) * 30);
});
