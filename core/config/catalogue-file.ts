import * as v from "valibot";
import { MICRO_VND_PER_VND } from "../catalogue/amount.ts";
import {
  CHANNELS,
  LABELS,
  MEDIA_DEFAULTS,
  type Model,
  type NextPrice,
  type Price,
  route,
  STANDARDS,
} from "../catalogue/catalogue.ts";
import { features } from "../catalogue/features.ts";
import { factorsOf, priceFactor } from "../catalogue/price-factors.ts";
import {
  described,
  mapping,
  matching,
  named,
  oneOf,
  passing,
  setting,
  some,
  text,
  whole,
} from "../process/options.ts";
import { instantOf } from "../process/vietnam-day.ts";

/** The maximum price: above any real price, and low enough that every cost is a safe integer of µđ. */
export const PRICE_VND_MAX = 10_000_000;

const price = whole(1, PRICE_VND_MAX, "a whole number of đ within price_range");
const pixels = whole(1, 1_000_000_000, "a whole number of pixels");
const tokens = whole(1, 100_000_000, "a whole number of tokens");

const sizeFactors = v.pipe(
  some(
    mapping({
      pixels_max: described(pixels, "Largest image that this factor covers, in pixels."),
      factor: described(priceFactor, "Factor on the price."),
    }),
    "a list of sizes with their factors",
  ),
  v.check(
    (sizes) => sizes.every(({ pixels_max }, at) => pixels_max > (sizes[at - 1]?.pixels_max ?? 0)),
    "a list of sizes, from the smallest to the largest",
  ),
);

const referenceImages = mapping({
  included: described(whole(0, 100), "Reference images that the price itself covers."),
  factor_each: described(priceFactor, "Factor on the price that each further one adds."),
});

const priceFactors = mapping({
  input: factorOf("Input tokens that are neither read from a cache nor written to one."),
  cached_input: factorOf("Input tokens that the provider read from its cache."),
  cache_write: factorOf("Input tokens that the provider wrote to its cache."),
  output: factorOf("Output tokens, reasoning included."),
  per_call: factorOf("Calls of a model priced per call."),
  per_image: factorOf("Images of a model priced per image."),
});

function factorOf(description: string) {
  return v.exactOptional(described(priceFactor, description));
}

const INSTANT = "a day or time in Vietnam such as 2026-12-01 or 2026-12-01T09:00";

const nextPrice = mapping({
  from: described(
    passing((given) => instantOf(given) !== undefined, INSTANT),
    "Day or time in Vietnam from which it applies: 2026-12-01, or 2026-12-01T09:00.",
  ),
  vnd: described(price, "đ, in the unit of the price of today."),
  price: setting(priceFactors, "Factors on it; by default those of today."),
});

export const entry = {
  id: described(
    matching(/^[A-Za-z0-9][\w.:@-]*(?:\/[A-Za-z0-9][\w.:@-]*)*$/, "a model id without spaces"),
    "Public id. Only ids priced per call begin with req/, only ids on the AWS channel with svc/.",
  ),
  price_vnd_per_mtok: setting(price, "đ per 1,000,000 input and output tokens."),
  price_vnd_per_call: setting(price, "đ per call; for image models, per image."),
  price: setting(priceFactors, "Factors on this price by what is counted; 1 by default.", {}),
  next_price: setting(
    nextPrice,
    "An announced price. Calls that begin before it applies keep the price of today.",
  ),
  channel: setting(oneOf(CHANNELS), "Channel that serves the model.", "standard"),
  context_window: setting(
    tokens,
    "Maximum input and output tokens together; of an embedding, tokens of a text.",
  ),
  input_tokens_max: setting(
    tokens,
    "Maximum input tokens of one call. Bounds the cost of a call at a fixed price.",
  ),
  max_output_tokens: setting(tokens, "Maximum output tokens of one reply."),
  labels: setting(
    v.array(oneOf(LABELS), `a list of ${LABELS.join(", ")}`),
    "Capabilities of the model.",
    [],
  ),
  standard: described(oneOf(STANDARDS), "The model's native protocol."),
  routes: described(some(route, "a list of at least one route"), "Upstreams that serve the model."),
  features: setting(
    features,
    "Features that every route of the model sells, with their prices.",
    {},
  ),
  image_pixels_max: setting(
    pixels,
    "Largest image that the price itself covers, in pixels.",
    MEDIA_DEFAULTS.pixelsMax,
  ),
  size_factors: setting(
    sizeFactors,
    "Factors on the price of larger images. Still larger ones get 400.",
  ),
  input_characters_max: setting(
    whole(1, 10_000_000),
    "Longest text that the price of a speech call covers.",
    MEDIA_DEFAULTS.charactersMax,
  ),
  option_factors: setting(
    named(
      named(priceFactor, matching(/^[\w-]{1,40}$/, "a value of the option"), "a mapping by value"),
      matching(/^[a-z_]{1,40}$/, "the name of an option"),
      "a mapping by option",
    ),
    "Factors on the price of an image by option and value; the first value is sent if a call names none.",
    {},
  ),
  reference_images: setting(
    referenceImages,
    "What the reference images of a call add to the price of an image; by default nothing.",
  ),
};

const bounds = v.pipe(
  v.strictTuple([price, price], "a list of the lowest and the highest price"),
  v.check(([low, high]) => low <= high, "a list of the lowest and the highest price"),
);
export const priceRange = mapping({
  vnd_per_mtok: setting(bounds, "Lowest and highest price per 1,000,000 tokens.", [1500, 55_000]),
  vnd_per_call: setting(bounds, "Lowest and highest price per call.", [230, 1350]),
});
export const idPrefix = mapping({
  per_call: setting(text("an id prefix"), "Ids of models priced per call.", "req/"),
  aws: setting(text("an id prefix"), "Ids of models on the AWS channel.", "svc/"),
});

/** Schema of the catalogue file. */
export const catalogueFile = mapping({
  price_range: setting(priceRange, "Prices outside this range are refused as typing errors.", {}),
  id_prefix: setting(idPrefix, "Id prefixes that show how a model is priced and served.", {}),
  models: some(mapping(entry), "a list of at least one model"),
});

export type CatalogueEntry = v.InferOutput<ReturnType<typeof mapping<typeof entry>>>;

/** Converts an entry to the model that calls use. */
export function toModel(entry: CatalogueEntry, catalogueVersion: string): Model {
  return Object.freeze({
    id: entry.id,
    price: toPrice(entry),
    next: toNextPrice(entry),
    channel: entry.channel,
    contextWindow: entry.context_window,
    inputTokensMax: entry.input_tokens_max,
    maxOutputTokens: entry.max_output_tokens,
    labels: new Set(entry.labels),
    standard: entry.standard,
    routes: Object.freeze(entry.routes.map((given) => Object.freeze(given))),
    features: Object.freeze(entry.features),
    media: Object.freeze({
      pixelsMax: entry.image_pixels_max,
      sizeFactors: entry.size_factors ?? MEDIA_DEFAULTS.sizeFactors,
      charactersMax: entry.input_characters_max,
      optionFactors: entry.option_factors,
      referenceImages: entry.reference_images,
    }),
    catalogueVersion,
  });
}

function toPrice(entry: CatalogueEntry): Price {
  const vnd = entry.price_vnd_per_mtok ?? entry.price_vnd_per_call ?? PRICE_VND_MAX;
  const factors = factorsOf(entry.price);
  if (entry.price_vnd_per_mtok !== undefined) {
    return Object.freeze({ unit: "mtok", vnd, microVnd: vnd, factors });
  }
  const unit = entry.standard === "images" ? "image" : "call";
  return Object.freeze({ unit, vnd, microVnd: vnd * MICRO_VND_PER_VND, factors });
}

/** The announced price of an entry: that of today with another amount, and other factors if it states any. */
function toNextPrice(entry: CatalogueEntry): NextPrice | undefined {
  const { next_price: next } = entry;
  const fromMs = next && instantOf(next.from);
  if (!next || fromMs === undefined) return undefined;
  const amount =
    entry.price_vnd_per_mtok === undefined
      ? { price_vnd_per_call: next.vnd }
      : { price_vnd_per_mtok: next.vnd };
  const price = toPrice({ ...entry, price: next.price ?? entry.price, ...amount });
  return Object.freeze({ fromMs, price });
}
