const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const KEPT_BYTES = 256;

/**
 * Shortens the texts of JSON that arrives in chunks: 200 MB of images become some KB. Numbers, names and the length of
 * lists stay. Keeps the first 256 bytes of a text, and as many after each backslash, so no escape is split.
 */
export class ShortTexts {
  private state: "outside" | "inside" | "escaped" = "outside";
  /** Bytes of the text under way, since its begin or its last backslash. */
  private textBytes = 0;

  /** Returns a copy of the chunk, shortened. */
  shorten(chunk: Uint8Array): Uint8Array {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const parts: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = this.endOf(bytes, at);
      const kept = this.state === "inside" ? Math.max(0, KEPT_BYTES - this.textBytes) : end - at;
      parts.push(bytes.subarray(at, Math.min(end, at + kept)));
      this.textBytes += end - at;
      if (end < bytes.length) {
        parts.push(bytes.subarray(end, end + 1));
        this.pass(bytes[end]);
      }
      at = end + 1;
    }
    return Buffer.concat(parts);
  }

  /** Returns the index of the next byte that changes the state, or the length of the chunk. */
  private endOf(bytes: Buffer, at: number): number {
    if (this.state === "escaped") return at;
    const found = bytes.indexOf(QUOTE, at);
    const quote = found < 0 ? bytes.length : found;
    if (this.state === "outside") return quote;
    const backslash = bytes.subarray(at, quote).indexOf(BACKSLASH);
    return backslash < 0 ? quote : at + backslash;
  }

  private pass(byte: number | undefined): void {
    this.textBytes = 0;
    if (this.state === "inside") this.state = byte === QUOTE ? "outside" : "escaped";
    else this.state = "inside";
  }
}
