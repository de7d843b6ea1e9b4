const UTF16 = ["\xff\xfe", "\xfe\xff"];
/** How much of a file shows if it is a text. */
const HEAD_BYTES = 1_024;

type FileType = ImageType | "application/pdf" | "text/plain";
type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Base64 that shows as much. */
const HEAD_BASE64 = 1_368;

/** Reads files as far as models do. */
export const files = {
  /** Returns the media type by the first bytes; undefined for others. Code has many types, and some clients state a wrong one, or none. */
  typeOf(data: Buffer): FileType | undefined {
    const head = data.subarray(0, HEAD_BYTES);
    if (head.subarray(0, 5).toString("latin1") === "%PDF-") return "application/pdf";
    return imageType(head) ?? (isText(head) ? "text/plain" : undefined);
  },
  typeOfBase64: (base64: string): FileType | undefined =>
    files.typeOf(Buffer.from(base64.slice(0, HEAD_BASE64), "base64")),
  /** Decodes a text. It is priced and sent in two places, which must read the same. */
  textOfBase64(base64: string): string {
    const bytes = Buffer.from(base64, "base64");
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString("utf16le", 2);
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
    return bytes.toString();
  },
};

export function imageType(data: Buffer): ImageType | undefined {
  if (data.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n") return "image/png";
  if (data.subarray(0, 3).toString("latin1") === "\xff\xd8\xff") return "image/jpeg";
  if (/^GIF8[79]a$/.test(data.subarray(0, 6).toString("latin1"))) return "image/gif";
  const isRiff = data.subarray(0, 4).toString("latin1") === "RIFF";
  return isRiff && data.subarray(8, 12).toString("latin1") === "WEBP" ? "image/webp" : undefined;
}

function isText(head: Buffer): boolean {
  if (UTF16.includes(head.subarray(0, 2).toString("latin1"))) return true;
  if (head.length === 0 || head.includes(0)) return false;
  try {
    // The last character may be cut.
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}
