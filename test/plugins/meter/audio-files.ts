/** Small audio files, built part by part. */

export type Part = Buffer | string | readonly number[];
export const bytesOf = (parts: readonly Part[]) =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part),
    ),
  );
export const base64 = (...parts: Part[]) => bytesOf(parts).toString("base64");
const u16le = (value: number) => [value & 255, value >> 8];
export const u32le = (value: number) => [...u16le(value & 65_535), ...u16le(value >>> 16)];

/** The format of a wave file; by default mono speech of 24,000 samples of 2 bytes. */
export interface WaveFormat {
  readonly channels?: number;
  readonly samplesPerSecond?: number;
  readonly bytesPerSecond?: number;
  readonly bytesPerSample?: number;
  readonly bits?: number;
}

const SPEECH = { channels: 1, samplesPerSecond: 24_000, bytesPerSample: 2, bits: 16 };

export function format(stated: WaveFormat): Buffer {
  const { channels, samplesPerSecond, bytesPerSample, bits } = { ...SPEECH, ...stated };
  const bytesPerSecond = stated.bytesPerSecond ?? samplesPerSecond * bytesPerSample;
  return bytesOf([
    ...["fmt ", u32le(16), u16le(1), u16le(channels), u32le(samplesPerSecond)],
    ...[u32le(bytesPerSecond), u16le(bytesPerSample), u16le(bits)],
  ]);
}

export const wave = (bytes: number, ...chunks: Part[]) =>
  base64("RIFF", u32le(0), "WAVE", ...chunks, "data", u32le(bytes), Buffer.alloc(bytes));

/** A page of an Ogg file with packets of at most 254 bytes, and the samples that it states. */
export function page(packets: readonly Part[], samples = 0, flags = 0): Buffer {
  const parts = packets.map((packet) => bytesOf([packet]));
  return bytesOf([
    ...["OggS", [0, flags], u32le(samples), u32le(0), u32le(1), u32le(0), u32le(0)],
    ...[[parts.length], parts.map(({ length }) => length), ...parts],
  ]);
}

export const HEADS = bytesOf([page(["OpusHead"], 0, 2), page(["OpusTags"])]);
/** By RFC 6716: one frame of 20 ms, and two of 60 ms. */
export const SHORT = Buffer.alloc(40, 9 << 3);
export const LONG = [(11 << 3) | 1];
export const pages = (count: number, packet: Part, samples: number) =>
  bytesOf(Array.from({ length: count }, () => page(Array(50).fill(packet), samples)));
