import type * as v from "valibot";
import {
  described,
  mapping,
  matching,
  refusingLists,
  setting,
  text,
  whole,
} from "../process/options.ts";
import type { MicroVnd } from "./amount.ts";
import { type AllowedFeatures, features } from "./features.ts";
import type { PriceFactors, PriceUnit } from "./price-factors.ts";
import { profile } from "./profile.ts";

/** The kind of calls that a model serves. A chat model has one standard, `messages` or `chat`, and serves both. */
export type Standard = (typeof STANDARDS)[number];
export const STANDARDS = ["messages", "chat", "images", "speech", "embeddings"] as const;
export const CHANNELS = ["standard", "aws"] as const;
export const LABELS = ["reasoning", "vision", "tools", "streaming"] as const;

/** The price of a model. A price of `vnd` đ per million tokens is exactly as many µđ per token. */
export interface Price {
  /** `mtok`: per 1,000,000 tokens, input plus output; `call`: per call; `image`: per image. */
  readonly unit: PriceUnit;
  /** The price in đ per `unit`, as the catalogue states it. */
  readonly vnd: number;
  /** µđ for one token, one call or one image at a factor of 1. */
  readonly microVnd: MicroVnd;
  readonly factors: PriceFactors;
}

/** A price that replaces the one of today at an instant: the same at every gateway, by its clock. */
export interface NextPrice {
  /** In milliseconds since the Unix epoch. */
  readonly fromMs: number;
  readonly price: Price;
}

/** One way to serve a model. */
export const route = mapping({
  upstream: described(text("the name of an upstream"), "Name of an upstream of the config file."),
  model: described(
    matching(/^[\x21-\x7e]{1,200}$/, "the model's name at the upstream"),
    "The model's name at the upstream.",
  ),
  weight: setting(whole(1, 1000), "Share among routes of the same priority.", 1),
  priority: setting(whole(0, 1000), "Lower priorities are tried first.", 0),
  first_byte_seconds: setting(whole(1, 86_400), "Overrides first_byte_seconds of the upstream."),
  reply_seconds: setting(whole(1, 86_400), "Overrides reply_seconds of the upstream."),
  profile: setting(refusingLists(profile), "Overrides keys of the upstream's profile.", {}),
  features: setting(features, "Features that this route sells, with their prices.", {}),
});

export interface Route extends Readonly<Omit<v.InferOutput<typeof route>, "features">> {
  readonly features: AllowedFeatures;
}

interface MediaTerms {
  /** The largest image that costs the price without a factor, in pixels. */
  readonly pixelsMax: number;
  /** Factors on the price of larger images, by their most pixels, in ascending order. Still larger ones are not sold. */
  readonly sizeFactors: readonly { readonly pixels_max: number; readonly factor: number }[];
  /** The longest text of a speech call. */
  readonly charactersMax: number;
  /** Factors on the price by option and value: `{ quality: { medium: 1, high: 4 } }`. */
  readonly optionFactors: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Reference images that the price covers, and the factor that each further one adds; undefined if it covers all. */
  readonly referenceImages: { readonly included: number; readonly factor_each: number } | undefined;
}

/** The largest image of most providers, and the longest text that they speak. */
export const MEDIA_DEFAULTS: MediaTerms = Object.freeze({
  pixelsMax: 1536 * 1536,
  sizeFactors: [],
  charactersMax: 4096,
  optionFactors: {},
  referenceImages: undefined,
});

/** A catalogue entry. Frozen, and of one shape, because every call reads it. */
export interface Model {
  /** The public id: `claude-opus-5`. `req/…` if priced per call, `svc/…` on the AWS channel. */
  readonly id: string;
  readonly price: Price;
  /** An announced price. Calls held before its instant keep the price before it: see `priceAt`. */
  readonly next: NextPrice | undefined;
  readonly channel: (typeof CHANNELS)[number];
  /** Tokens, of an embedding those of each text; undefined if the model has no context window. */
  readonly contextWindow: number | undefined;
  /** Tokens; undefined if only the context window limits the input. */
  readonly inputTokensMax: number | undefined;
  /** Tokens; undefined if the model does not return text. */
  readonly maxOutputTokens: number | undefined;
  readonly labels: ReadonlySet<(typeof LABELS)[number]>;
  readonly standard: Standard;
  readonly routes: readonly Route[];
  /** The features that the model allows on every route. */
  readonly features: AllowedFeatures;
  readonly media: MediaTerms;
  /** The version of the catalogue: the same for all its models, and different for any other catalogue. */
  readonly catalogueVersion: string;
}

/** Returns the price of a model at an instant. */
export function priceAt({ price, next }: Pick<Model, "price" | "next">, nowMs: number): Price {
  return next === undefined || nowMs < next.fromMs ? price : next.price;
}

/** Used for a model whose catalogue entry has no `max_output_tokens`. */
const OUTPUT_TOKENS_DEFAULT = 32_000;

/** Returns the maximum output tokens of a reply: the call's own limit, at most the model's. */
export function outputTokensMax(limit: number | undefined, model: Model): number {
  if (model.standard === "embeddings") return 0;
  const most = model.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT;
  return limit === undefined ? most : Math.min(limit, most);
}

/** The models on offer, in the order of the file. */
export class Catalogue {
  readonly models: readonly Model[];
  /** Models of the file that cannot be called, since none of their upstreams has a key. */
  readonly notOffered: readonly Model[];
  private readonly byId: ReadonlyMap<string, Model>;
  /** The next instant at which a price changes; Infinity if none is announced. */
  private readonly untilMs: number;
  /** The catalogue from that instant on. */
  private readonly later: Catalogue | undefined;

  /** `routes`: all of the file, also those to upstreams without a key. */
  constructor(
    models: readonly Model[],
    notOffered: readonly Model[] = [],
    readonly routes: readonly Route[] = models.flatMap((model) => model.routes),
  ) {
    this.models = Object.freeze([...models]);
    this.notOffered = Object.freeze([...notOffered]);
    this.byId = new Map(models.map((model) => [model.id, model]));
    const all = [...models, ...notOffered];
    this.untilMs = Math.min(...all.map(({ next }) => next?.fromMs ?? Number.POSITIVE_INFINITY));
    this.later = this.untilMs === Number.POSITIVE_INFINITY ? undefined : this.from(this.untilMs);
  }

  /**
   * Returns the catalogue at an instant: with announced prices in effect whose time has come. It is the same object until
   * a price changes, so that lists can be cached by it.
   */
  at(nowMs: number): Catalogue {
    return this.later === undefined || nowMs < this.untilMs ? this : this.later.at(nowMs);
  }

  private from(nowMs: number): Catalogue {
    const changed = (model: Model): Model =>
      model.next === undefined || nowMs < model.next.fromMs
        ? model
        : Object.freeze({ ...model, price: model.next.price, next: undefined });
    return new Catalogue(this.models.map(changed), this.notOffered.map(changed), this.routes);
  }

  /** Returns this catalogue with the routes to these upstreams only. */
  offeredBy(upstreams: ReadonlySet<string>): Catalogue {
    const all = [...this.models, ...this.notOffered].map((model) => {
      const routes = model.routes.filter(({ upstream }) => upstreams.has(upstream));
      return routes.length === model.routes.length ? model : Object.freeze({ ...model, routes });
    });
    return new Catalogue(
      all.filter(({ routes }) => routes.length > 0),
      all.filter(({ routes }) => routes.length === 0),
      this.routes,
    );
  }

  /** Returns true if the file has the model but it cannot be called. */
  withholds(id: string): boolean {
    return this.notOffered.some((model) => model.id === id);
  }

  /** A short hash of all entries, which usage records name. Empty if there are none. */
  get version(): string {
    return this.models[0]?.catalogueVersion ?? "";
  }

  get(id: string): Model | undefined {
    return this.byId.get(id);
  }
}
