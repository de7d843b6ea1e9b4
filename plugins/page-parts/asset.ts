import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { PlainRequest, PlainResponse } from "../../core/plugin/index.ts";

/** A public file, sent unchanged to every client. */
export interface Asset {
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
  readonly plain: Buffer;
  /**
   * Compressed on the first request that accepts it. Compressing every file at start or reload
   * delayed calls.
   */
  gzip: Buffer | undefined;
  brotli: Buffer | undefined;
}

/** A smaller body does not shrink on the wire when compressed. */
const COMPRESSED_BYTES_MIN = 400;
/**
 * All files take 23 ms and 87 KB at this quality. Quality 11 takes 450 ms for 80 KB; 9 with a
 * larger window 340 ms for no gain.
 */
const BROTLI_QUALITY = 9;
const BROTLI_WINDOW_BITS = 16;

export function textAsset(type: string, content: string | Buffer, cacheControl: string): Asset {
  const plain = Buffer.from(content);
  const etag = `"${hashOf(plain)}"`;
  return { type, cacheControl, etag, plain, gzip: undefined, brotli: undefined };
}

export function hashOf(...contents: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(content);
  return hash.digest("base64url").slice(0, 16);
}

/**
 * Returns the asset in the best encoding that the client accepts, or 304 if the client has this
 * version.
 */
export function respond(
  asset: Asset,
  request: PlainRequest,
  extra: readonly string[] = [],
): PlainResponse {
  const { encoding, bytes } = choose(asset, request.headers["accept-encoding"] ?? "");
  const common = [
    "etag",
    asset.etag,
    "cache-control",
    asset.cacheControl,
    "vary",
    "accept-encoding, accept-language, cookie",
    ...extra,
  ];
  if (request.headers["if-none-match"]?.includes(asset.etag)) {
    return { status: 304, headers: common };
  }
  const coded = encoding === "identity" ? [] : ["content-encoding", encoding];
  return { status: 200, headers: ["content-type", asset.type, ...coded, ...common], body: bytes };
}

function choose(asset: Asset, accepted: string) {
  const { plain, type } = asset;
  const takes = (name: string) => {
    const offer = accepted.split(",").find((one) => one.trim().split(";")[0] === name);
    return offer !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(offer);
  };
  // Fonts are compressed already.
  if (plain.length >= COMPRESSED_BYTES_MIN && !type.startsWith("font/")) {
    if (takes("br")) return { encoding: "br", bytes: brotliOf(asset) };
    if (takes("gzip")) {
      asset.gzip ??= gzipSync(plain);
      return { encoding: "gzip", bytes: asset.gzip };
    }
  }
  return { encoding: "identity", bytes: plain };
}

function brotliOf(asset: Asset): Buffer {
  asset.brotli ??= brotliCompressSync(asset.plain, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: asset.plain.length,
    },
  });
  return asset.brotli;
}
