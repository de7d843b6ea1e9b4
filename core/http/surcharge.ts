import {
  type AllowedFeatures,
  FEATURES,
  type FeatureName,
  type FeatureTerms,
  type Surcharge,
} from "../catalogue/features.ts";
import { productOf } from "../catalogue/price-factors.ts";

/**
 * Returns what the features of a call add to its price. Routes may sell a feature on different
 * terms. The price is the highest of them, so that it does not depend on the route that serves.
 */
export function surchargeOf(
  used: ReadonlySet<FeatureName>,
  routes: readonly AllowedFeatures[],
): Surcharge {
  const fees = new Map<FeatureName, number>();
  let factor = 1;
  let holdTokens = 0;
  let holdFeesVnd = 0;
  let unbounded = false;
  for (const name of used) {
    const terms = routes.flatMap((allowed) => allowed[name] ?? []);
    const most = (value: (one: FeatureTerms) => number) => Math.max(...terms.map(value));
    factor = productOf(
      factor,
      most((one) => one.factor),
    );
    holdTokens += most((one) => one.hold_tokens);
    holdFeesVnd += most((one) => one.fees * one.hold_uses);
    const fee = most((one) => one.fees);
    if (fee > 0) fees.set(name, fee);
    unbounded ||= "unbounded" in FEATURES[name];
  }
  return { factor, fees, holdTokens, holdFeesVnd, unbounded };
}
