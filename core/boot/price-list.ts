import type { Catalogue, Model, Price } from "../catalogue/catalogue.ts";
import type { AllowedFeatures } from "../catalogue/features.ts";
import { ONE, PRICE_KINDS, times } from "../catalogue/price-factors.ts";
import type { ConfigWithPlugins } from "../plugin/plugin.ts";
import type { PriceEntry } from "../plugin/services.ts";

const BPS_OF_A_PERCENT = 100;

/**
 * Returns all that a config makes customers pay: prices of models, in effect and announced, of sizes, options and
 * features, and the discounts of plugins. In the order of the files.
 */
export function priceListOf(config: ConfigWithPlugins, catalogue: Catalogue): PriceEntry[] {
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
  const { id, price, next, media, features, routes } = model;
  const scaled = (kind: string, factor: number): PriceEntry[] => {
    const millionths = times(price.vnd * ONE, factor);
    return factor === 1 ? [] : [{ model: id, kind, unit: "đ", from: null, millionths }];
  };
  return [
    ...priceEntries(id, price, null),
    ...(next ? priceEntries(id, next.price, new Date(next.fromMs).toISOString()) : []),
    ...media.sizeFactors.flatMap((size) => scaled(`up to ${size.pixels_max} pixels`, size.factor)),
    ...Object.entries(media.optionFactors).flatMap(([option, values]) =>
      Object.entries(values).flatMap(([value, factor]) => scaled(`${option} ${value}`, factor)),
    ),
    ...featureEntries(id, features),
    ...routes.flatMap((route) => featureEntries(id, route.features, ` at ${route.upstream}`)),
  ];
}

function priceEntries(model: string, { unit, vnd, factors }: Price, from: string | null) {
  return PRICE_KINDS[unit].map((kind): PriceEntry => {
    return { model, kind, unit: "đ", from, millionths: vnd * factors[kind] };
  });
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
