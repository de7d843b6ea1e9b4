import { oggSeconds } from "./ogg-seconds.ts";
import { waveSeconds } from "./wave-seconds.ts";

/** The fewest bytes of a second of speech: Opus at 6 kbit/s. */
const BYTES_PER_SECOND_MIN = 750;

/** Models with an encoder of Whisper, such as Voxtral, count whole chunks of 30 seconds. */
const CHUNK_SECONDS = 30;

/** The bit rates that the numbers 1 to 14 in a header stand for. The others state none. */
const MPEG_BITRATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_BITRATES = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** The eleven bits that begin each frame. */
const SYNC = 0x7ff;
const LAYER_3 = 1;
/** An ID3 tag of version 1. */
const TAIL_BYTES_MAX = 128;
const MPEG_RATES = [44_100, 48_000, 32_000, 0];

/** Returns the seconds of an audio file, or more, rounded up to whole chunks. */
export function audioSeconds(base64: string, format: string): number {
  const bytes = Buffer.from(base64, "base64");
  const seconds = lengthOf(bytes, format) ?? bytes.length / BYTES_PER_SECOND_MIN;
  return Math.ceil(seconds / CHUNK_SECONDS) * CHUNK_SECONDS;
}

function lengthOf(bytes: Buffer, format: string): number | undefined {
  if (bytes.length > 44 && bytes.toString("latin1", 0, 4) === "RIFF") {
    return waveSeconds(bytes, BYTES_PER_SECOND_MIN);
  }
  if (bytes.toString("latin1", 0, 4) === "OggS") return oggSeconds(bytes, BYTES_PER_SECOND_MIN);
  // At least 8,000 samples of 2 bytes: OpenAI and Gemini take 16,000 and 24,000 of them.
  if (format.includes("pcm")) return bytes.length / 16_000;
  return format.includes("mp3") || format.includes("mpeg") ? mpegSeconds(bytes) : undefined;
}

/** Reads each frame's header, because bit rates may vary. */
function mpegSeconds(bytes: Buffer): number | undefined {
  let at = afterTag(bytes);
  let seconds = 0;
  while (at + 4 <= bytes.length) {
    const head = bytes.readUInt32BE(at);
    if (head >>> 21 !== SYNC) {
      // There may be a tag after the last frame.
      if (bytes.length - at <= TAIL_BYTES_MAX) break;
      return undefined;
    }
    // The frames of other layers have other lengths.
    if (((head >>> 17) & 3) !== LAYER_3) return undefined;
    const version = (head >>> 19) & 3;
    const isFirst = version === 3;
    const bitrate = (isFirst ? MPEG_BITRATES : MPEG2_BITRATES)[((head >>> 12) & 15) - 1] ?? 0;
    const rate = (MPEG_RATES[(head >>> 10) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4);
    if (bitrate === 0 || rate === 0) return undefined;
    const samples = isFirst ? 1_152 : 576;
    seconds += samples / rate;
    at += Math.floor(((samples / 8) * bitrate * 1_000) / rate) + ((head >>> 9) & 1);
  }
  return seconds > 0 ? seconds : undefined;
}

/** Skips an ID3 tag, whose length has 7 bits a byte. */
function afterTag(bytes: Buffer): number {
  if (bytes.toString("latin1", 0, 3) !== "ID3") return 0;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
  return 10 + (a << 21) + (b << 14) + (c << 7) + d;
}
