import type { Catalogue, Model, Price } from "../catalogue/catalogue.ts";
import { statedOf } from "../catalogue/price-factors.ts";
import { decodedPart, type PlainRequest, type Router } from "../plugin/router.ts";
import { refuse } from "../wire/refusal.ts";
import { wires } from "../wire/wires.ts";

/** The date of all entries; clients expect the field. */
const CREATED = Date.UTC(2026, 0, 1) / 1000;
/**
 * Codex asks with its version, and wants `models` in a shape of its own: without it, it logs an error with the whole list.
 * An empty one leaves it the models that it brings (openai/codex, models-manager, `apply_remote_models`).
 */
const FOR_CODEX = ',"models":[]';
const JSON_HEADERS = ["content-type", "application/json", "cache-control", "no-store"];

/**
 * Adds `GET /v1/models` and `/v1/models/:id`: names, limits and prices. Clients that send the Messages version header
 * get the Messages shape, all others the OpenAI shape. Both have the same extra fields.
 */
export function addModelRoutes(router: Router, catalogue: () => Catalogue, pathsOf: PathsOf): void {
  const messages = writer((model) => ({
    ...{ type: "model", id: model.id, display_name: model.id },
    created_at: new Date(CREATED * 1000).toISOString(),
    ...extras(model, pathsOf),
  }));
  const chat = writer((model) => ({
    ...{ id: model.id, object: "model", created: CREATED, owned_by: "tollgate" },
    ...extras(model, pathsOf),
  }));
  const common = { method: "GET", access: "key" } as const;
  router.addRoute({
    ...common,
    path: "/v1/models",
    handler: (request) => {
      const { models } = catalogue();
      const body = isMessages(request)
        ? messagesPage(models, request.query, messages)
        : `{"object":"list","data":[${models.map(chat)}]${isCodex(request) ? FOR_CODEX : ""}}`;
      return { status: 200, headers: JSON_HEADERS, body };
    },
  });
  router.addRoute({
    ...common,
    path: "/v1/models/*",
    handler: (request) => {
      // Ids such as `req/…` contain a slash, which clients send as it is or encoded.
      const given = request.params["*"] ?? "";
      const id = decodedPart(given) ?? given;
      const model = catalogue().get(id);
      const body = model && (isMessages(request) ? messages : chat)(model);
      if (body !== undefined) return { status: 200, headers: JSON_HEADERS, body };
      const refusal = refuse.notFound("There is no such model: see /v1/models.");
      const wire = isMessages(request) ? wires.messages : wires.chat;
      const error = wire.errorBody(refusal, request.requestId);
      return { status: 404, headers: JSON_HEADERS, body: error };
    },
  });
}

type PathsOf = (model: Model) => readonly string[];
type Write = (model: Model) => string;

/** Writes each model once: a list of 2,000 models takes 4 ms else, and clients ask for it at each of their starts. */
function writer(entryOf: (model: Model) => object): Write {
  const written = new WeakMap<Model, string>();
  return (model) => {
    const known = written.get(model);
    if (known !== undefined) return known;
    const entry = JSON.stringify(entryOf(model));
    written.set(model, entry);
    return entry;
  };
}

/** Messages clients page by `after_id` and `limit`. Without a limit they get all models. */
function messagesPage(models: readonly Model[], query: URLSearchParams, write: Write): string {
  const after = query.get("after_id");
  const start = after === null ? 0 : models.findIndex((model) => model.id === after) + 1;
  const limit = Number.parseInt(query.get("limit") ?? "", 10);
  const page = models.slice(start, limit >= 1 ? start + limit : undefined);
  const first = JSON.stringify(page[0]?.id ?? null);
  const last = JSON.stringify(page.at(-1)?.id ?? null);
  const hasMore = start + page.length < models.length;
  return `{"data":[${page.map(write)}],"first_id":${first},"has_more":${hasMore},"last_id":${last}}`;
}

function isMessages(request: PlainRequest): boolean {
  return request.headers["anthropic-version"] !== undefined;
}

function isCodex({ query }: PlainRequest): boolean {
  return query.has("client_version");
}

function extras(model: Model, pathsOf: PathsOf): object {
  const { price, next } = model;
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
      ...priceJson(price),
      ...(next && {
        next: { from: new Date(next.fromMs).toISOString(), ...priceJson(next.price) },
      }),
    },
  };
}

function priceJson({ unit, vnd, factors }: Price): object {
  const stated = statedOf(factors);
  return {
    vnd_per_mtok: unit === "mtok" ? vnd : null,
    // An image is a call too, with one image.
    vnd_per_call: unit === "mtok" ? null : vnd,
    vnd_per_image: unit === "image" ? vnd : null,
    // Factors on this price by what is counted, if it is not one price for all.
    ...(stated && { factors: stated }),
  };
}
