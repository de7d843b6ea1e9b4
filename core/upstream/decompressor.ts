import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from "node:zlib";

type Decoder = Gunzip | Inflate | InflateRaw | BrotliDecompress;

/** Receives the decompressed body. */
interface DecompressorListener {
  received(chunk: Buffer): void;
  completed(): void;
  failed(error: Error): void;
  /** Sets whether more of the body may come: false until what came is decompressed. */
  flow(isOn: boolean): void;
}

/** The encodings that are read, though every request asks for none. */
const ENCODINGS = new Set(["gzip", "x-gzip", "deflate", "br"]);

/**
 * Decompresses the body of one reply. Passes it on in pieces of some KB, so the limits of the reply
 * stop a body that grows without end.
 */
export class Decompressor {
  private readonly encoding: string;
  private readonly listener: DecompressorListener;
  private decoder: Decoder | undefined = undefined;
  private over = false;
  /** Why the connection broke. Errors of the decoder after that are only its consequence. */
  private reason: Error | undefined = undefined;

  private constructor(encoding: string, listener: DecompressorListener) {
    this.encoding = encoding;
    this.listener = listener;
  }

  /** Returns undefined if the body is not compressed, or has an encoding that is not read. */
  static of(stated: string | undefined, listener: DecompressorListener): Decompressor | undefined {
    const encoding = stated?.trim().toLowerCase();
    if (encoding === undefined || !ENCODINGS.has(encoding)) return undefined;
    return new Decompressor(encoding, listener);
  }

  push(chunk: Buffer): void {
    if (this.over) return;
    const decoder = this.started(chunk);
    // The chunk belongs to the parser, and is reused once this returns.
    const isReady = decoder.write(Buffer.from(chunk));
    if (!isReady) this.listener.flow(false);
  }

  end(): void {
    if (this.over) return;
    if (this.decoder) this.decoder.end();
    else this.finish(() => this.listener.completed());
  }

  /**
   * Ends a body whose connection broke. Passes the received part on first: the body is whole if its
   * own end, which a compressed body carries, is in that part.
   */
  cut(error: Error): void {
    if (this.over) return;
    this.reason = error;
    if (this.decoder) this.decoder.end();
    else this.finish(() => this.listener.failed(error));
  }

  pause(): void {
    this.decoder?.pause();
  }

  resume(): void {
    this.decoder?.resume();
  }

  /** Drops what has not been passed on. */
  stop(): void {
    this.over = true;
    this.decoder?.destroy();
  }

  private started(first: Buffer): Decoder {
    if (this.decoder) return this.decoder;
    const decoder = decoderOf(this.encoding, first);
    this.decoder = decoder;
    decoder.on("data", (chunk: Buffer) => {
      if (!this.over) this.listener.received(chunk);
    });
    decoder.on("drain", () => this.listener.flow(true));
    decoder.on("end", () => this.finish(() => this.listener.completed()));
    decoder.on("error", (error) => this.finish(() => this.listener.failed(this.reason ?? error)));
    return decoder;
  }

  private finish(then: () => void): void {
    if (this.over) return;
    this.over = true;
    then();
  }
}

const BITS_OF_METHOD = 0x0f;
const DEFLATE = 8;

function decoderOf(encoding: string, first: Buffer): Decoder {
  if (encoding === "br") return createBrotliDecompress();
  if (encoding !== "deflate") return createGunzip();
  // Some servers leave out the header of zlib.
  return ((first[0] ?? 0) & BITS_OF_METHOD) === DEFLATE ? createInflate() : createInflateRaw();
}
