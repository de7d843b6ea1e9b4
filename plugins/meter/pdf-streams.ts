const STREAM = Buffer.from("stream");
const END_OF_STREAM = Buffer.from("endstream");

/** A stream of a PDF, by its places in the file. */
interface PdfStream {
  /** The place of the keyword behind the dictionary. */
  readonly keyword: number;
  readonly from: number;
  readonly to: number;
  /** The place behind the stream. */
  readonly next: number;
}

/** Yields the streams of a PDF. One that does not end is none. */
export function* streamsOf(bytes: Buffer): Generator<PdfStream> {
  for (let at = 0; ; ) {
    const keyword = bytes.indexOf(STREAM, at);
    if (keyword === -1) return;
    const start = keyword + STREAM.length;
    const to = bytes.indexOf(END_OF_STREAM, start);
    if (to === -1) return;
    at = to + END_OF_STREAM.length;
    // A line end follows the keyword.
    const line =
      bytes[start] === 13 ? (bytes[start + 1] === 10 ? 2 : 1) : bytes[start] === 10 ? 1 : 0;
    yield { keyword, from: Math.min(start + line, to), to, next: at };
  }
}
