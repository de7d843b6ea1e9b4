import * as v from "valibot";
import { MICRO_VND_PER_VND } from "../contract/amount.ts";
import type { Channel, Label, Model, Price, Route, Standard } from "../contract/catalogue.ts";
import {
  described,
  mapping,
  matching,
  oneOf,
  refusingLists,
  some,
  text,
  whole,
} from "../contract/options.ts";
import { profile } from "../contract/profile.ts";

/** Above any honest price, and low enough that every cost stays an exact integer of µđ. */
const PRICE_VND_MAX = 10_000_000;

const STANDARDS = ["messages", "chat", "images", "speech"] as const satisfies readonly Standard[];
const CHANNELS = ["standard", "aws"] as const satisfies readonly Channel[];
const LABELS = ["reasoning", "vision", "tools", "streaming"] as const satisfies readonly Label[];

const price = whole(1, PRICE_VND_MAX, "a whole number of đ within price_range");
const tokens = whole(1, 100_000_000, "a whole number of tokens");

const route = mapping({
  upstream: described(text("the name of an upstream"), "Name of an upstream of the config file."),
  model: described(
    matching(/^[\x21-\x7e]{1,200}$/, "the model's name at the upstream"),
    "The model's name at the upstream.",
  ),
  weight: v.optional(described(whole(1, 1000), "Share among routes of the same priority."), 1),
  priority: v.optional(described(whole(0, 1000), "Lower ones are tried first."), 0),
  profile: v.optional(
    described(refusingLists(profile), "Overrides keys of the upstream's profile."),
    {},
  ),
});

export const entry = {
  id: described(
    matching(/^[A-Za-z0-9][\w.:@-]*(?:\/[A-Za-z0-9][\w.:@-]*)*$/, "a model id without spaces"),
    "The public id: only those priced per call begin with req/, only the AWS channel with svc/.",
  ),
  price_vnd_per_mtok: v.optional(described(price, "đ per 1,000,000 input and output tokens.")),
  price_vnd_per_call: v.optional(described(price, "đ per call; of an image model, per image.")),
  channel: v.optional(described(oneOf(CHANNELS), "Where it is served from."), "standard"),
  context_window: v.optional(described(tokens, "Tokens in and out together.")),
  max_output_tokens: v.optional(described(tokens, "Tokens of the largest answer.")),
  labels: v.optional(
    described(v.array(oneOf(LABELS), `a list of ${LABELS.join(", ")}`), "What it can do."),
    [],
  ),
  standard: described(oneOf(STANDARDS), "The protocol it speaks of itself."),
  routes: described(some(route, "a list of at least one route"), "Where it is served."),
};

const bounds = v.pipe(
  v.strictTuple([price, price], "a list of the lowest and the highest price"),
  v.check(([low, high]) => low <= high, "a list of the lowest and the highest price"),
);
export const priceRange = mapping({
  vnd_per_mtok: v.optional(
    described(bounds, "Lowest and highest price per 1,000,000 tokens."),
    [1500, 55_000],
  ),
  vnd_per_call: v.optional(described(bounds, "Lowest and highest price per call."), [230, 1350]),
});
export const idPrefix = mapping({
  per_call: v.optional(described(text("an id prefix"), "Ids of models priced per call."), "req/"),
  aws: v.optional(described(text("an id prefix"), "Ids of models on the AWS channel."), "svc/"),
});

/** The catalogue file as it is written. */
export const catalogueFile = mapping({
  price_range: v.optional(
    described(priceRange, "Prices outside of it are slips, and refused."),
    {},
  ),
  id_prefix: v.optional(described(idPrefix, "How ids tell what a model is."), {}),
  models: some(mapping(entry), "a list of at least one model"),
});

type Entry = v.InferOutput<ReturnType<typeof mapping<typeof entry>>>;

/** The entry as calls read it. */
export function toModel(entry: Entry, catalogueVersion: string): Model {
  return Object.freeze({
    id: entry.id,
    price: toPrice(entry),
    channel: entry.channel,
    contextWindow: entry.context_window,
    maxOutputTokens: entry.max_output_tokens,
    labels: new Set(entry.labels),
    standard: entry.standard,
    routes: Object.freeze(entry.routes.map((given): Route => Object.freeze(given))),
    catalogueVersion,
  });
}

function toPrice(entry: Entry): Price {
  const perMtok = entry.price_vnd_per_mtok;
  if (perMtok !== undefined)
    return Object.freeze({ unit: "mtok", vnd: perMtok, microVnd: perMtok });
  const vnd = entry.price_vnd_per_call ?? PRICE_VND_MAX;
  const unit = entry.standard === "images" ? "image" : "call";
  return Object.freeze({ unit, vnd, microVnd: vnd * MICRO_VND_PER_VND });
}
