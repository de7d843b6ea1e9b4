/** Upper limits for audio that a model hears. */
const SANE = { samplesPerSecond: 192_000, channels: 8, bitsPerSample: 64 };
const CHUNK_HEAD_BYTES = 8;
const CHUNKS_MAX = 1_000;

/**
 * Returns the seconds of a wave file. Decoders go by its samples, so the stated bytes per second
 * count only if they agree with the samples. Otherwise the slowest of both counts, at most
 * `bytesPerSecondMin`. Returns undefined if it has no readable format.
 */
export function waveSeconds(bytes: Buffer, bytesPerSecondMin: number): number | undefined {
  const at = formatOf(bytes);
  if (at === undefined) return undefined;
  const channels = bytes.readUInt16LE(at + 2);
  const samplesPerSecond = bytes.readUInt32LE(at + 4);
  const stated = bytes.readUInt32LE(at + 8);
  const bytesPerSample = bytes.readUInt16LE(at + 12);
  const bitsPerSample = bytes.readUInt16LE(at + 14);
  const rates = [
    stated,
    samplesPerSecond * bytesPerSample,
    (samplesPerSecond * channels * bitsPerSample) / 8,
  ];
  const isSane =
    rates.every((rate) => rate === stated && rate > 0) &&
    samplesPerSecond <= SANE.samplesPerSecond &&
    channels <= SANE.channels &&
    bitsPerSample <= SANE.bitsPerSample;
  if (isSane) return bytes.length / stated;
  return bytes.length / Math.min(...rates.filter((rate) => rate > 0), bytesPerSecondMin);
}

/** Returns the position of the format: the only chunk of its name before the samples. */
function formatOf(bytes: Buffer): number | undefined {
  let found: number | undefined;
  let at = 12;
  for (let chunks = 0; chunks < CHUNKS_MAX; chunks += 1) {
    if (at + CHUNK_HEAD_BYTES > bytes.length) return undefined;
    const name = bytes.toString("latin1", at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    at += CHUNK_HEAD_BYTES;
    if (name === "data") return found;
    if (name === "fmt ") {
      if (found !== undefined || length < 16) return undefined;
      found = at;
    }
    // Chunks have an even length.
    at += length + (length % 2);
  }
  return undefined;
}
