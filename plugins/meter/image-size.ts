/** The width and height of an image, in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The segments before the size of a JPEG are text and colours; few have more than this. */
const HEADER_BASE64_MAX = 349_528;
const SMALL_HEADER_BASE64 = 64;

/** Returns the size that the header of an image states; undefined if it states none. */
export function imageSize(base64: string): ImageSize | undefined {
  const head = Buffer.from(base64.slice(0, SMALL_HEADER_BASE64), "base64");
  const size = head[0] === 0xff ? jpegSize(base64) : sizeInHead(head);
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeInHead(head: Buffer): ImageSize | undefined {
  if (head.length < 26) return undefined;
  if (head.readUInt32BE(0) === 0x89504e47) {
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  }
  if (head.toString("latin1", 0, 4) === "GIF8") {
    return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
  }
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.length < 30) return undefined;
  switch (head.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Walks the segments of a JPEG to the frame, which has its size. */
function jpegSize(base64: string): ImageSize | undefined {
  const bytes = Buffer.from(base64.slice(0, HEADER_BASE64_MAX), "base64");
  let at = 2;
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) at += 1;
    else if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME.has(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    } else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** Markers of tables, among the markers of frames. */
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);
