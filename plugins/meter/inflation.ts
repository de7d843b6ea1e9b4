import { constants, inflateSync } from "node:zlib";

/** Maximum bytes that are inflated of each kind, for all files of a request: some 20 ms. */
const INFLATED_BYTES_MAX = 4 * 1_048_576;
/** The least that an attempt counts, so that thousands of tiny ones have an end too. */
const ATTEMPT_BYTES = 512;

/** Throws if the result has more bytes than it may. */
export type Unpack = (
  bytes: Buffer,
  limits: { readonly maxOutputLength: number; readonly finishFlush: number },
) => Buffer;

/** How many bytes may still be inflated for a request. A small file can inflate to a thousand times its size. */
export class Inflation {
  /** Objects have bytes of their own: the pages of a PDF cannot be counted without them. */
  private readonly left = { objects: INFLATED_BYTES_MAX, texts: INFLATED_BYTES_MAX };

  /** Returns the inflated bytes; undefined if they are encoded in another way, or too many. */
  inflate(
    bytes: Buffer,
    kind: "objects" | "texts",
    unpack: Unpack = inflateSync,
  ): Buffer | undefined {
    if (this.left[kind] === 0) return undefined;
    try {
      const maxOutputLength = this.left[kind];
      const found = unpack(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
      this.left[kind] -= Math.max(found.length, Math.min(ATTEMPT_BYTES, maxOutputLength));
      return found;
    } catch {
      // A failed attempt to inflate took time too, so nothing more is inflated.
      this.left[kind] = 0;
      return undefined;
    }
  }
}
