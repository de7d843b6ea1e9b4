import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { PlainRequest, PlainResponse } from "../../core/http/router.ts";

/** Something public that is sent as it stands, compressed once for all. */
export interface Asset {
  readonly type: string;
  readonly cacheControl: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
}

/** Below this a compressed reply is no smaller on the wire. */
const WORTHWHILE_BYTES = 400;

export function textAsset(type: string, content: string | Buffer, cacheControl: string): Asset {
  const plain = Buffer.from(content);
  const params = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT };
  return {
    type,
    cacheControl,
    etag: `"${hashOf(plain)}"`,
    plain,
    gzip: gzipSync(plain, { level: 9 }),
    brotli: brotliCompressSync(plain, { params }),
  };
}

export function hashOf(...contents: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(content);
  return hash.digest("base64url").slice(0, 16);
}

/** The asset in the best form that the client takes, or 304 where it has it already. */
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
    "accept-encoding, cookie",
    "x-content-type-options",
    "nosniff",
    ...extra,
  ];
  if (request.headers["if-none-match"]?.includes(asset.etag)) {
    return { status: 304, headers: common };
  }
  const coded = encoding === "identity" ? [] : ["content-encoding", encoding];
  return { status: 200, headers: ["content-type", asset.type, ...coded, ...common], body: bytes };
}

function choose({ plain, gzip, brotli }: Asset, accepted: string) {
  const takes = (name: string) => {
    const offer = accepted.split(",").find((one) => one.trim().split(";")[0] === name);
    return offer !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(offer);
  };
  if (plain.length >= WORTHWHILE_BYTES) {
    if (takes("br")) return { encoding: "br", bytes: brotli };
    if (takes("gzip")) return { encoding: "gzip", bytes: gzip };
  }
  return { encoding: "identity", bytes: plain };
}
