const MAGIC = "OggS";
/** Bytes of a page's head, before the table of its segments. */
const HEAD_BYTES = 27;
const FLAGS_AT = 5;
const FIRST_PAGE_FLAG = 2;
const SEGMENT_BYTES_MAX = 255;
/** Longest packet, by RFC 6716. An empty one, which is lost speech, may stand for as much. */
const PACKET_MS_MAX = 120;
/** One day. No model hears more, and a hostile file is not read further. */
const MS_MAX = 86_400_000;
const SILK_MS = [10, 20, 40, 60];
const CELT_MS = [2.5, 5, 10, 20];
const HEADERS = ["OpusHead", "OpusTags"];

/**
 * Returns at least the seconds of an Ogg file with Opus: adds up its packets by RFC 7845 and 6716.
 * The number of samples that its pages state is not read: no decoder needs it, so it can have any
 * value. Returns undefined for another codec.
 */
export function oggSeconds(bytes: Buffer, bytesPerSecondMin: number): number | undefined {
  if (!isHeader(bytes, HEAD_BYTES + (bytes[HEAD_BYTES - 1] ?? 0))) return undefined;
  let ms = 0;
  let streams = 0;
  // Looks for pages inside of pages too: decoders do, if the check sum of the outer one is wrong.
  for (let page = 0; page !== -1 && ms < MS_MAX; page = bytes.indexOf(MAGIC, page + 4)) {
    if (((bytes[page + FLAGS_AT] ?? 0) & FIRST_PAGE_FLAG) !== 0) streams += 1;
    ms += pageMs(bytes, page);
  }
  // The codec of a further stream is not known.
  return Math.max(ms / 1_000, streams > 1 ? bytes.length / bytesPerSecondMin : 0);
}

function pageMs(bytes: Buffer, page: number): number {
  const segments = bytes[page + HEAD_BYTES - 1] ?? 0;
  let at = page + HEAD_BYTES + segments;
  let length = 0;
  let ms = 0;
  for (let segment = 0; segment < segments; segment += 1) {
    const size = bytes[page + HEAD_BYTES + segment] ?? 0;
    length += size;
    // A packet ends with a segment that is not full. The rest of one that goes on in the next page
    // counts as a packet of its own.
    if (size === SEGMENT_BYTES_MAX && segment < segments - 1) continue;
    if (!isHeader(bytes, at)) ms += packetMs(bytes, at, length);
    at += length;
    length = 0;
  }
  return ms;
}

function isHeader(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x4f && HEADERS.includes(bytes.toString("latin1", at, at + 8));
}

/** The first byte states the length of a frame and how many there are, with a second if need be. */
function packetMs(bytes: Buffer, at: number, length: number): number {
  const first = bytes[at];
  if (length === 0 || first === undefined) return PACKET_MS_MAX;
  const code = first & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (bytes[at + 1] ?? 0) & 63;
  return Math.min(frames * frameMs(first >> 3), PACKET_MS_MAX);
}

function frameMs(config: number): number {
  if (config >= 16) return CELT_MS[config & 3] ?? PACKET_MS_MAX;
  return SILK_MS[config >= 12 ? config & 1 : config & 3] ?? PACKET_MS_MAX;
}
