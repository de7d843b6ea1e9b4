import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Model } from "../catalogue/catalogue.ts";
import type { PlainRequest, PlainResponse } from "../plugin/router.ts";

const compress = promisify(gzip);
/** A smaller body does not shrink on the wire when compressed. */
const COMPRESSED_BYTES_MIN = 400;
const GZIP_ACCEPTED = /(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/;

/** Returns the text of a page: `entries` are JSON already. */
type WritePage = (entries: string, page: ModelPage) => string;

interface ModelPage {
  readonly models: readonly Model[];
  readonly hasMore: boolean;
}

/**
 * The list of a catalogue's models in one shape. It is written, hashed and compressed once: a list of 2,000 models has
 * 640 KB, and clients ask for it at each of their starts.
 */
export class ModelList {
  private readonly models: readonly Model[];
  private readonly write: WritePage;
  private readonly entries: readonly string[];
  private readonly whole: Buffer;
  private compressed: Promise<Buffer> | undefined;
  private readonly etag: string;

  constructor(models: readonly Model[], entryOf: (model: Model) => object, write: WritePage) {
    this.models = models;
    this.write = write;
    this.entries = models.map((model) => JSON.stringify(entryOf(model)));
    this.whole = Buffer.from(write(this.entries.join(","), { models, hasMore: false }));
    const hash = createHash("sha256").update(this.whole).digest("base64url");
    // Weak: it is the same for the plain and the compressed list.
    this.etag = `W/"${hash.slice(0, 16)}"`;
  }

  /** Returns all models from place `start` to `end`, or 304 if the client has them. */
  async respond(request: PlainRequest, start: number, end: number): Promise<PlainResponse> {
    const headers = [
      ...["content-type", "application/json", "etag", this.etag],
      ...["cache-control", "private, no-cache", "vary", "accept-encoding, anthropic-version"],
    ];
    if (isKnown(request.headers["if-none-match"], this.etag)) return { status: 304, headers };
    const body = this.page(start, end);
    const accepted = request.headers["accept-encoding"] ?? "";
    if (body.length < COMPRESSED_BYTES_MIN || !GZIP_ACCEPTED.test(accepted))
      return { status: 200, headers, body };
    headers.push("content-encoding", "gzip");
    return { status: 200, headers, body: await this.gzip(body) };
  }

  private page(start: number, end: number): Buffer {
    const { models, entries } = this;
    const hasMore = end < models.length;
    if (start === 0 && !hasMore) return this.whole;
    const page = { models: models.slice(start, end), hasMore };
    return Buffer.from(this.write(entries.slice(start, end).join(","), page));
  }

  private gzip(body: Buffer): Promise<Buffer> {
    if (body !== this.whole) return compress(body);
    this.compressed ??= compress(body);
    return this.compressed;
  }
}

function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  // A proxy may have made the tag strong or weak: by RFC 9110, 13.1.2, the comparison ignores that mark.
  const opaque = etag.slice(2);
  return header.split(",").some((one) => {
    const known = one.trim();
    return known === "*" || known.replace(/^W\//, "") === opaque;
  });
}
