import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Catalogue, Model } from "../catalogue/catalogue.ts";
import { statedOf } from "../catalogue/price-factors.ts";
import { done } from "../plugin/json-route.ts";
import type { PlainRequest, PlainResponse, Router } from "../plugin/router.ts";
import { refuse } from "../wire/refusal.ts";
import { wires } from "../wire/wires.ts";

/** The date of all entries; clients expect the field. */
const CREATED = Date.UTC(2026, 0, 1) / 1000;
const JSON_HEADERS = ["content-type", "application/json"];

/**
 * Adds `GET /v1/models` and `/v1/models/:id`: names, limits and prices. Clients that send the Messages version header
 * get the Messages shape, all others the OpenAI shape. Both have the same extra fields.
 */
export function addModelRoutes(router: Router, catalogue: () => Catalogue, pathsOf: PathsOf): void {
  // A reload replaces the catalogue, so the lists are cached per catalogue.
  const lists = new WeakMap<readonly Model[], Map<Shape, ModelList>>();
  const listOf = (models: readonly Model[], shape: Shape): ModelList => {
    const made = lists.get(models) ?? new Map<Shape, ModelList>();
    lists.set(models, made);
    const list = made.get(shape) ?? shape(models, pathsOf);
    made.set(shape, list);
    return list;
  };
  const common = { method: "GET", access: "key" } as const;
  router.addRoute({
    ...common,
    path: "/v1/models",
    handler: (request) => {
      const { models } = catalogue();
      const list = listOf(models, isMessages(request) ? messagesList : chatList);
      const { start, end } = isMessages(request)
        ? pageOf(models, request.query)
        : { start: 0, end: models.length };
      return list.respond(request, start, end);
    },
  });
  router.addRoute({
    ...common,
    path: "/v1/models/*",
    handler: (request) => {
      // Ids such as `req/…` contain a slash, which clients send as it is or encoded.
      const id = decode(request.params["*"] ?? "");
      const model = catalogue().get(id);
      if (model) return done((isMessages(request) ? messagesEntry : chatEntry)(model, pathsOf));
      const refusal = refuse.notFound("There is no such model: see /v1/models.");
      const wire = isMessages(request) ? wires.messages : wires.chat;
      const body = wire.errorBody(refusal, request.requestId);
      return { status: 404, headers: JSON_HEADERS, body };
    },
  });
}

/** Returns the paths that serve a model. */
type PathsOf = (model: Model) => readonly string[];
type Shape = (models: readonly Model[], pathsOf: PathsOf) => ModelList;

const chatList: Shape = (models, pathsOf) =>
  new ModelList(
    models,
    (model) => chatEntry(model, pathsOf),
    (entries) => `{"object":"list","data":[${entries}]}`,
  );

const messagesList: Shape = (models, pathsOf) =>
  new ModelList(
    models,
    (model) => messagesEntry(model, pathsOf),
    (entries, page) => {
      const first = JSON.stringify(page.models[0]?.id ?? null);
      const last = JSON.stringify(page.models.at(-1)?.id ?? null);
      return `{"data":[${entries}],"first_id":${first},"has_more":${page.hasMore},"last_id":${last}}`;
    },
  );

function isMessages(request: PlainRequest): boolean {
  return request.headers["anthropic-version"] !== undefined;
}

function chatEntry(model: Model, pathsOf: PathsOf): object {
  return {
    id: model.id,
    object: "model",
    created: CREATED,
    owned_by: "tollgate",
    ...extras(model, pathsOf),
  };
}

function messagesEntry(model: Model, pathsOf: PathsOf): object {
  return {
    type: "model",
    id: model.id,
    display_name: model.id,
    created_at: new Date(CREATED * 1000).toISOString(),
    ...extras(model, pathsOf),
  };
}

function extras(model: Model, pathsOf: PathsOf): object {
  const { price } = model;
  const factors = statedOf(price.factors);
  return {
    context_window: model.contextWindow ?? null,
    max_input_tokens: model.inputTokensMax ?? null,
    max_output_tokens: model.maxOutputTokens ?? null,
    // The channel's name as the documented interface writes it.
    channel: model.channel === "aws" ? "AWS" : model.channel,
    labels: [...model.labels],
    api_standard: model.standard,
    endpoints: pathsOf(model),
    pricing: {
      currency: "VND",
      vnd_per_mtok: price.unit === "mtok" ? price.vnd : null,
      // An image is a call too, with one image.
      vnd_per_call: price.unit === "mtok" ? null : price.vnd,
      vnd_per_image: price.unit === "image" ? price.vnd : null,
      // Factors on this price by what is counted, if it is not one price for all.
      ...(factors && { factors }),
    },
  };
}

/** Messages clients page by `after_id` and `limit`. Without a limit they get all models. */
function pageOf(
  models: readonly Model[],
  query: URLSearchParams,
): { readonly start: number; readonly end: number } {
  const after = query.get("after_id");
  const start = after === null ? 0 : models.findIndex((model) => model.id === after) + 1;
  const limit = Number.parseInt(query.get("limit") ?? "", 10);
  return { start, end: limit >= 1 ? Math.min(start + limit, models.length) : models.length };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

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
class ModelList {
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
