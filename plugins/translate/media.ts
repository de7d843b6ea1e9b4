/** The parts of a data URL. `data` is base64. */
interface DataUrl {
  /** Lower case, without parameters; `image/jpg` is written `image/jpeg`. */
  readonly mediaType: string;
  readonly data: string;
}

/** No honest media type is longer, and a hostile one would be split into millions of parameters. */
const HEAD_CHARS_MAX = 4096;

/**
 * Reads a data URL without a regular expression over its data, which may be 20 MB. Undefined where the text
 * is none.
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (url.slice(0, 5).toLowerCase() !== "data:") return undefined;
  const comma = url.indexOf(",");
  if (comma === -1 || comma > HEAD_CHARS_MAX) return undefined;
  const [type = "", ...parameters] = url.slice(5, comma).split(";");
  const mediaType = type.trim().toLowerCase() || "text/plain";
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  const body = url.slice(comma + 1);
  return {
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    data: isBase64 ? unescaped(body) : percentDecode(body).toString("base64"),
  };
}

/** The text that base64 data stands for. */
export function decodeText(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

/** Base64 itself may be percent-encoded inside of a URL. */
function unescaped(data: string): string {
  return data.includes("%") ? percentDecode(data).toString("latin1") : data;
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    let byte = bytes[i] ?? 0;
    if (byte === PERCENT && i + 2 < bytes.length) {
      const high = hexDigit(bytes[i + 1]);
      const low = hexDigit(bytes[i + 2]);
      if (high >= 0 && low >= 0) {
        byte = high * 16 + low;
        i += 2;
      }
    }
    decoded[length] = byte;
    length += 1;
  }
  return decoded.subarray(0, length);
}

const PERCENT = 0x25;

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** Whether an address on the web names a PDF by its path; query and fragment say nothing about it. */
export function isPdfAddress(url: string): boolean {
  const end = url.search(/[?#]/);
  return (end === -1 ? url : url.slice(0, end)).toLowerCase().endsWith(".pdf");
}

export function isWebAddress(url: string): boolean {
  const scheme = url.slice(0, 8).toLowerCase();
  return scheme.startsWith("http://") || scheme === "https://";
}
