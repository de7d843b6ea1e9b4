/** Errors of providers have a few hundred bytes. */
const ERROR_BYTES_MAX = 262_144;

/**
 * The reply of a provider that refuses a call. It is kept whole, because it is masked as a whole, and because the call
 * may be sent again.
 */
export class RefusedReply {
  /** The headers that the client gets: name, value, name, value. */
  headers: readonly string[] = [];
  private chunks: Buffer[] = [];
  private bytes = 0;

  /** Keeps a part of the body. Returns false if the body is too large. */
  add(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes > ERROR_BYTES_MAX) return false;
    this.chunks.push(Buffer.from(chunk));
    return true;
  }

  text(): string {
    return Buffer.concat(this.chunks).toString("utf8");
  }

  clear(): void {
    this.chunks = [];
    this.bytes = 0;
  }
}
