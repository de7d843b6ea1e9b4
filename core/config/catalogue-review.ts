import { createHash } from "node:crypto";
import * as v from "valibot";
import { Catalogue, type Model, outputTokensMax, type Route } from "../catalogue/catalogue.ts";
import { ONE, PRICE_KINDS } from "../catalogue/price-factors.ts";
import { isModelName } from "../plugin/model-names.ts";
import { arrayOf, objectOf } from "../process/json.ts";
import {
  type CatalogueEntry,
  catalogueFile,
  entry,
  idPrefix,
  PRICE_VND_MAX,
  priceRange,
  toModel,
} from "./catalogue-file.ts";
import type { Path } from "./problem.ts";
import type { Source } from "./source.ts";
import { attempt, validate } from "./validate.ts";

/** 32 bits tell the catalogues of one operator apart, and stay small in every usage record. */
const VERSION_CHARACTERS = 8;

/** The protocols of each upstream, by its name; undefined if the upstream's own settings are invalid. */
export type UpstreamProtocols = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** The entries of a checked file: plain values, which another thread can send. */
export interface CheckedCatalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly version: string;
}

/** Checks a file. Use the result only if no problem was reported. */
export function checkCatalogue(
  source: Source,
  upstreams: UpstreamProtocols,
): CheckedCatalogue | undefined {
  const file = validate(catalogueFile, source.value, source, []);
  new Review(source, upstreams).run();
  return file && { entries: file.models, version: versionOf(file.models) };
}

export function catalogueOf({ entries, version }: CheckedCatalogue): Catalogue {
  return new Catalogue(entries.map((model) => toModel(model, version)));
}

/** Returns those lines about what an operator may have made by mistake that the catalogue alone shows. */
export function catalogueWarnings(catalogue: Catalogue): string[] {
  return [unoffered(catalogue), dearCalls(catalogue)].filter((line) => line !== undefined);
}

/** Returns a line that names the models whose upstreams have no key; undefined if there are none. */
function unoffered({ notOffered }: Catalogue): string | undefined {
  if (notOffered.length === 0) return undefined;
  const names = notOffered.map(({ id }) => id).join(", ");
  return `models without a key of their upstream are not offered: ${names}`;
}

/** Returns a short hash of all entries, so that a usage record can name the catalogue that its price comes from. */
function versionOf(models: readonly object[]): string {
  const hash = createHash("sha256").update(JSON.stringify(models)).digest("hex");
  return hash.slice(0, VERSION_CHARACTERS);
}

/**
 * Checks what the schema cannot: that ids differ, prices are in range, and upstreams exist. Reads each part of an
 * entry separately, so that one error does not hide the next.
 */
class Review {
  /** Places of routes to upstreams that the config lacks, by upstream. */
  private readonly unknown = new Map<string, Path[]>();
  private readonly firstIndex = new Map<string, number>();
  private readonly range: v.InferOutput<typeof priceRange>;
  private readonly prefix: v.InferOutput<typeof idPrefix>;
  private readonly models: readonly unknown[];

  constructor(
    private readonly source: Source,
    private readonly upstreams: UpstreamProtocols,
  ) {
    const file = objectOf(source.value);
    this.range = attempt(priceRange, file?.["price_range"] ?? {}) ?? v.parse(priceRange, {});
    this.prefix = attempt(idPrefix, file?.["id_prefix"] ?? {}) ?? v.parse(idPrefix, {});
    this.models = arrayOf(file?.["models"]);
  }

  run(): void {
    for (const [index, model] of this.models.entries()) {
      const given = objectOf(model);
      if (!given) continue;
      const at = ["models", index];
      const has = (name: string) => given[name] !== undefined && given[name] !== null;
      const parts: Parts = Object.fromEntries(
        Object.entries(entry).map(([name, schema]) => [name, attempt(schema, given[name])]),
      );
      this.id(parts, at, index);
      this.price(parts, at, has);
      this.nextPrice(parts, [...at, "next_price"]);
      this.tokens(parts, at, has);
      this.media(parts, at);
      this.routes(parts, at);
    }
    this.unknownUpstreams();
  }

  /** Reports each unknown upstream once, not once for each of its models. */
  private unknownUpstreams(): void {
    const known = [...this.upstreams.keys()].join(", ") || "none";
    for (const [first, ...others] of this.unknown.values()) {
      if (!first) continue;
      const name = this.source.writtenAt(first);
      const more =
        others.length === 0
          ? ""
          : `, here and in ${others.length} more routes; to leave out its models, keep the upstream with an empty key`;
      this.expect(false, first, `an upstream of the config (${known}), got ${name}${more}`);
    }
  }

  private id({ id, channel, price_vnd_per_mtok }: Parts, at: Path, index: number): void {
    if (id === undefined) return;
    const place = [...at, "id"];
    // Clients may write an id in another case: see `dated_names` of the plugin alias.
    const first = this.firstIndex.get(id.toLowerCase());
    if (first === undefined) this.firstIndex.set(id.toLowerCase(), index);
    this.expect(first === undefined, place, `a unique id, got that of models[${first}]`);
    this.expect(isModelName(id), place, "at most 256 characters");
    // Callers read pricing and channel from the id's prefix, so a wrong prefix would mislead them.
    const { per_call, aws } = this.prefix;
    const isPerToken = id.startsWith(per_call) && price_vnd_per_mtok !== undefined;
    this.expect(!isPerToken, place, `an id without ${per_call}, since it is priced per token`);
    const isNotAws = id.startsWith(aws) && channel === "standard";
    this.expect(!isNotAws, place, `an id without ${aws}, since its channel is not aws`);
  }

  private price(parts: Parts, at: Path, has: Has): void {
    const { price_vnd_per_mtok: perMtok, price_vnd_per_call: perCall, standard } = parts;
    const ofTokens = [...at, "price_vnd_per_mtok"];
    const ofCalls = [...at, "price_vnd_per_call"];
    const both = "price_vnd_per_mtok and price_vnd_per_call";
    const [isPerToken, isPerCall] = [has("price_vnd_per_mtok"), has("price_vnd_per_call")];
    this.expect(!(isPerToken && isPerCall), ofCalls, `only one of ${both}, got both`);
    this.expect(isPerToken || isPerCall, at, `${both.replace("and", "or")}, got neither`);
    if (perMtok !== undefined) {
      const why = `since ${standard} models are not billed by the token`;
      this.expect(!isMedia(standard), ofTokens, `price_vnd_per_call, ${why}`);
      this.inRange(ofTokens, perMtok, "vnd_per_mtok");
    }
    if (perCall !== undefined) {
      const why = "since embeddings are billed by the tokens of their input";
      this.expect(standard !== "embeddings", ofCalls, `price_vnd_per_mtok, ${why}`);
      this.inRange(ofCalls, perCall, "vnd_per_call");
    }
    this.factors(parts, perMtok ?? perCall, parts.price, [...at, "price"]);
  }

  /** Checks an announced price as the one of today: no one is there to notice a typing error when it takes effect. */
  private nextPrice(parts: Parts, at: Path): void {
    const { next_price: next } = parts;
    if (!next) return;
    const isPerToken = parts.price_vnd_per_mtok !== undefined;
    this.inRange([...at, "vnd"], next.vnd, isPerToken ? "vnd_per_mtok" : "vnd_per_call");
    const isPriced = isPerToken || parts.price_vnd_per_call !== undefined;
    const vnd = isPriced ? next.vnd : undefined;
    this.factors(parts, vnd, next.price ?? parts.price, [...at, "price"]);
  }

  /** Refuses factors on what the price does not count: they would look as if they applied. */
  private factors(
    { standard, price_vnd_per_mtok }: Parts,
    vnd: number | undefined,
    factors: Parts["price"],
    at: Path,
  ): void {
    if (vnd === undefined) return;
    const unit =
      price_vnd_per_mtok !== undefined ? "mtok" : standard === "images" ? "image" : "call";
    const kinds: readonly string[] = standard === "embeddings" ? ["input"] : PRICE_KINDS[unit];
    const only = `only ${kinds.join(", ")}, since the model is priced per ${UNITS[unit]}`;
    for (const [kind, factor] of Object.entries(factors ?? {})) {
      const isCounted = kinds.includes(kind);
      this.expect(isCounted, [...at, kind], only);
      const isLow = !isCounted || vnd * factor <= PRICE_VND_MAX;
      const most = `a factor that makes at most ${PRICE_VND_MAX} đ of the price`;
      this.expect(isLow, [...at, kind], most);
    }
  }

  private inRange(at: Path, vnd: number, name: "vnd_per_mtok" | "vnd_per_call"): void {
    const [low, high] = this.range[name];
    const got = vnd < low ? "a smaller number" : "a larger number";
    const message = `a price from ${low} to ${high} đ (price_range.${name}), got ${got}`;
    this.expect(vnd >= low && vnd <= high, at, message);
  }

  private tokens(parts: Parts, at: Path, has: Has): void {
    const { standard, max_output_tokens: output = 0 } = parts;
    const { input_tokens_max: input, context_window: window = Number.POSITIVE_INFINITY } = parts;
    const isChat = standard === "chat" || standard === "messages";
    const ofOutput = [...at, "max_output_tokens"];
    const ofInput = [...at, "input_tokens_max"];
    const inWindow = "at most context_window, got a larger number";
    this.expect(
      !isChat || has("max_output_tokens"),
      ofOutput,
      "a number of tokens, which chat models need: a call without a limit of its own holds this much",
    );
    if (input !== undefined) {
      const why = `since the input of ${standard} models is not counted in tokens`;
      this.expect(!isMedia(standard), ofInput, `nothing, ${why}`);
      // A call for embeddings may have many texts.
      this.expect(input <= window || standard === "embeddings", ofInput, inWindow);
    }
    const isSilent = standard === "embeddings" && output > 0;
    this.expect(!isSilent, ofOutput, "nothing, since embeddings models return no text");
    this.expect(output <= window, ofOutput, inWindow);
  }

  /** Refuses factors that no image can have, or that only images have: they would look as if they applied. */
  private media(parts: Parts, at: Path): void {
    const { standard, image_pixels_max: covered, size_factors: sizes = [], option_factors } = parts;
    const isOfImages = standard === undefined || standard === "images";
    const nothing = `nothing, since ${standard} models make no images`;
    this.expect(isOfImages || sizes.length === 0, [...at, "size_factors"], nothing);
    const options = Object.keys(option_factors ?? {}).length;
    this.expect(isOfImages || options === 0, [...at, "option_factors"], nothing);
    const [smallest] = sizes;
    const isLarger = covered === undefined || !smallest || smallest.pixels_max > covered;
    this.expect(
      !isOfImages || isLarger,
      [...at, "size_factors", 0, "pixels_max"],
      `more than image_pixels_max (${covered}), which the price itself covers`,
    );
  }

  private routes({ routes = [], standard }: Parts, at: Path): void {
    const firstIndex = new Map<string, number>();
    for (const [index, route] of routes.entries()) {
      const key = JSON.stringify([route.upstream, route.model]);
      const first = firstIndex.get(key);
      if (first === undefined) firstIndex.set(key, index);
      this.expect(
        first === undefined,
        [...at, "routes", index],
        `each route at most once; routes[${first}] is the same route; use weight for a larger share`,
      );
      const place = [...at, "routes", index, "upstream"];
      if (!this.upstreams.has(route.upstream)) {
        this.unknown.set(route.upstream, [...(this.unknown.get(route.upstream) ?? []), place]);
        continue;
      }
      const protocols = this.upstreams.get(route.upstream);
      // Some models of OpenAI speak Responses alone.
      const isServed = standard === "chat" && protocols?.has("responses");
      this.expect(
        !standard || !protocols || protocols.has(standard) || isServed,
        place,
        `an upstream with the protocol ${standard}, which ${this.source.writtenAt(place)} lacks`,
      );
    }
  }

  private expect(isMet: boolean | undefined, at: Path, expected: string): void {
    if (!isMet) this.source.report(at, `expected ${expected}`);
  }
}

type Parts = { readonly [Name in keyof CatalogueEntry]?: CatalogueEntry[Name] | undefined };
/** Returns true if an entry has a value of this name, valid or not. */
type Has = (name: keyof CatalogueEntry) => boolean;

const UNITS = { mtok: "token", call: "call", image: "image" } as const;

function isMedia(standard: Parts["standard"]): boolean {
  return standard === "images" || standard === "speech";
}

const NAMED_MAX = 5;

/**
 * Returns a line that names the models priced per call whose calls can cost more than they bring; undefined if there are
 * none. The cost is estimated by the price per token of an entry with the same route, for the most tokens of a call.
 */
export function dearCalls({ models, notOffered }: Catalogue): string | undefined {
  const all = [...models, ...notOffered];
  const dear = all.flatMap((model) => {
    const most = mostVndOf(model, all);
    const bringsVnd = (model.price.vnd * model.price.factors.per_call) / ONE;
    if (model.price.unit !== "call" || most === undefined || most <= bringsVnd) return [];
    return `${model.id} (up to ${Math.ceil(most)} đ for ${bringsVnd} đ)`;
  });
  if (dear.length === 0) return undefined;
  const others = dear.length > NAMED_MAX ? ` and ${dear.length - NAMED_MAX} more` : "";
  return (
    "by the prices per token of the same routes, a call can cost more than it brings: " +
    `${dear.slice(0, NAMED_MAX).join(", ")}${others}; lower input_tokens_max and max_output_tokens`
  );
}

/** Returns the đ that the largest call of a model costs by the token; undefined if no entry has such a price. */
function mostVndOf(model: Model, all: readonly Model[]): number | undefined {
  const output = outputTokensMax(undefined, model);
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  const input = Math.min(model.inputTokensMax ?? window, window - output);
  const costs = all
    .filter(({ price, routes }) => price.unit === "mtok" && shareRoute(routes, model.routes))
    .map(
      ({ price: { vnd, factors } }) =>
        (vnd * (input * factors.input + output * factors.output)) / ONE / ONE,
    );
  return costs.length === 0 ? undefined : Math.min(...costs);
}

function shareRoute(some: readonly Route[], others: readonly Route[]): boolean {
  return some.some(({ upstream, model }) =>
    others.some((other) => other.upstream === upstream && other.model === model),
  );
}
