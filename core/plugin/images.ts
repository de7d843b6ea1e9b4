export interface FetchedImage {
  readonly data: Buffer;
  /** Media type: `image/png`. */
  readonly type: string;
}

/** Fetches images that customers name by address, from public addresses unless the config allows others. */
export interface ImageFetcher {
  /** Returns the image, or a sentence that says why there is none. Never rejects. */
  fetch(address: string, of: ImageFetch): Promise<FetchedImage | string>;
}

/** The call that an image is fetched for. */
export interface ImageFetch {
  /** Ends the fetch. A server that sends slowly ends it by nothing else. */
  readonly signal: AbortSignal;
  /** Counts bytes of the image that have arrived. */
  received(bytes: number): void;
}

/**
 * Returns the media type of an image by its first bytes; undefined unless it is PNG, JPEG, GIF or
 * WebP.
 */
export function imageType(data: Buffer): string | undefined {
  if (data.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n") return "image/png";
  if (data.subarray(0, 3).toString("latin1") === "\xff\xd8\xff") return "image/jpeg";
  if (/^GIF8[79]a$/.test(data.subarray(0, 6).toString("latin1"))) return "image/gif";
  const isRiff = data.subarray(0, 4).toString("latin1") === "RIFF";
  return isRiff && data.subarray(8, 12).toString("latin1") === "WEBP" ? "image/webp" : undefined;
}
