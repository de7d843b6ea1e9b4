import { hostname } from "node:os";
import type { Catalogue, Model, Price } from "../catalogue/catalogue.ts";
import type { AllowedFeatures } from "../catalogue/features.ts";
import { ONE, PRICE_KINDS, times } from "../catalogue/price-factors.ts";
import { formatProblems, type GatewayConfig, type loadConfig } from "../config/load.ts";
import type { ConfigWithPlugins } from "../plugin/plugin.ts";
import type { PriceEntry, ReadConfig, ReloadCause, Reloads } from "../plugin/services.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";

export type LoadConfig = () => ReturnType<typeof loadConfig>;

interface Parts {
  readonly load: LoadConfig;
  readonly clock: Clock;
  readonly log: Log;
  config(): GatewayConfig;
  /** Serves new calls with another config. Resolves with the names of settings that need a restart. */
  replace(config: GatewayConfig): Promise<readonly string[]>;
}

/** Reads the config's file again, on behalf of a signal or an operator, and logs each change. */
export class ConfigReloads implements Reloads {
  cause: ReloadCause = causedBy("start");

  constructor(private readonly parts: Parts) {}

  prices(): ReturnType<typeof priceListOf> {
    return this.listOf(this.parts.config());
  }

  async read(): Promise<ReadConfig> {
    const next = await this.parts.load().catch((error: unknown) => {
      this.parts.log.error({ err: error }, "the new config cannot be read; keeping the old one");
      throw error;
    });
    if (!next.ok) {
      this.parts.log.error(
        { problems: next.problems },
        "the new config is invalid; keeping the old one",
      );
      return { ok: false, problems: formatProblems(next.problems) };
    }
    const { config } = next;
    const { models, version } = config.catalogue;
    return {
      ok: true,
      models: models.length,
      catalogueVersion: version,
      prices: this.listOf(config),
      apply: (cause) => this.apply(config, cause),
    };
  }

  /** Reads and applies the config, for a signal, which gets no reply. */
  async run(signal: string): Promise<void> {
    try {
      const next = await this.read();
      if (next.ok) await next.apply(causedBy(signal));
    } catch {
      // It is logged.
    }
  }

  private async apply(config: GatewayConfig, cause: ReloadCause): Promise<readonly string[]> {
    const { log, replace } = this.parts;
    const { cause: before } = this;
    this.cause = cause;
    try {
      const restart = await replace(config);
      const { models, version } = config.catalogue;
      const fields = { models: models.length, catalogue_version: version };
      if (restart.length === 0) log.info(fields, "reloaded");
      else log.warn(fields, `reloaded; these need a restart: ${restart.join(", ")}`);
      return restart;
    } catch (error) {
      this.cause = before;
      log.error({ err: error }, "cannot apply the new config; keeping the old one");
      throw error;
    }
  }

  private listOf(config: GatewayConfig) {
    return priceListOf(config, config.catalogue.at(this.parts.clock.now()));
  }
}

function causedBy(operator: string): ReloadCause {
  return { operator, remoteAddress: hostname() };
}

const BPS_OF_A_PERCENT = 100;

/**
 * Returns all that a config makes customers pay: prices of models, in effect and announced, of sizes, options and
 * features, and the discounts of plugins. In the order of the files.
 */
function priceListOf(config: ConfigWithPlugins, catalogue: Catalogue): PriceEntry[] {
  return [
    ...catalogue.models.flatMap(entriesOf),
    ...Object.entries(config.upstreams).flatMap(([name, { features }]) =>
      featureEntries(null, features, ` at ${name}`),
    ),
    ...config.plugins.flatMap(({ module, options }) =>
      Object.entries(module.discounts?.(options) ?? {}).map(([kind, bps]): PriceEntry => {
        const millionths = (bps * ONE) / BPS_OF_A_PERCENT;
        return { model: null, kind, unit: "%", from: null, millionths };
      }),
    ),
  ];
}

function entriesOf(model: Model): PriceEntry[] {
  const { id, price, next, features, routes } = model;
  return [
    ...priceEntries(model, price, null),
    ...(next ? priceEntries(model, next.price, new Date(next.fromMs).toISOString()) : []),
    ...featureEntries(id, features),
    ...routes.flatMap((route) => featureEntries(id, route.features, ` at ${route.upstream}`)),
  ];
}

/** Returns the kinds of a price, and what follows from it: the prices of sizes, options and reference images. */
function priceEntries(
  { id, media }: Model,
  { unit, vnd, factors }: Price,
  from: string | null,
): PriceEntry[] {
  const entry = (kind: string, millionths: number): PriceEntry => {
    return { model: id, kind, unit: "đ", from, millionths };
  };
  const scaled = (kind: string, factor: number) =>
    factor === 1 ? [] : [entry(kind, times(vnd * ONE, factor))];
  const { sizeFactors, optionFactors, referenceImages: images } = media;
  return [
    ...PRICE_KINDS[unit].map((kind) => entry(kind, vnd * factors[kind])),
    ...sizeFactors.flatMap((size) => scaled(`up to ${size.pixels_max} pixels`, size.factor)),
    ...Object.entries(optionFactors).flatMap(([option, values]) =>
      Object.entries(values).flatMap(([value, factor]) => scaled(`${option} ${value}`, factor)),
    ),
    ...(images
      ? [entry(`reference image beyond ${images.included}`, times(vnd * ONE, images.factor_each))]
      : []),
  ];
}

function featureEntries(model: string | null, features: AllowedFeatures, where = ""): PriceEntry[] {
  return Object.entries(features).flatMap(([name, terms]): PriceEntry[] => {
    const kind = (what: string) => `${name} ${what}${where}`;
    const shared = { model, from: null };
    const fee = { ...shared, kind: kind("fee"), unit: "đ", millionths: terms.fees * ONE } as const;
    const millionths = times(ONE, terms.factor);
    const factor = { ...shared, kind: kind("factor"), unit: "×", millionths } as const;
    return [...(terms.fees > 0 ? [fee] : []), ...(terms.factor === 1 ? [] : [factor])];
  });
}
