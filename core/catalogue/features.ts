import * as v from "valibot";
import { described, mapping, setting, whole } from "../process/options.ts";
import { priceFactor } from "./price-factors.ts";

/**
 * Features that a provider bills beyond plain tokens, or that keep or read state at the provider.
 * No call may use one unless the config allows it, with a price, for an upstream, a model or a
 * route. `core/wire/features` says how a request asks for each.
 */
export const FEATURES = {
  web_search: { unbounded: true },
  web_fetch: { unbounded: true },
  file_search: { unbounded: true, sharesIds: true },
  code_execution: { unbounded: true },
  image_generation: {},
  mcp: { unbounded: true },
  computer: {},
  hosted_shell: { unbounded: true },
  tool_search: {},
  advisor: { unbounded: true },
  containers: { unbounded: true, sharesIds: true },
  files: { unbounded: true, sharesIds: true },
  stored_state: { unbounded: true, sharesIds: true },
  store: { sharesIds: true },
  remote_files: { unbounded: true },
  media_output: {},
  priority: {},
  fast_mode: {},
  inference_geo: {},
  fallbacks: {},
  provider_plugins: { unbounded: true },
  best_of: {},
  long_context: {},
  long_cache: {},
} as const satisfies Readonly<Record<string, FeatureFacts>>;

export type FeatureName = keyof typeof FEATURES;

interface FeatureFacts {
  /** True if the provider counts input that is not in the request, without a limit. */
  readonly unbounded?: boolean;
  /**
   * True if ids at the provider name stored state. All customers share one account there, so one
   * could use another's ids.
   */
  readonly sharesIds?: boolean;
}

const ACCEPTED = "i_accept_shared_ids: true";

const terms = {
  fees: setting(whole(0, 10_000_000), "đ for each use that the provider reports.", 0),
  factor: setting(priceFactor, "Factor on the model's unit price.", 1),
  hold_tokens: setting(
    whole(0, 10_000_000),
    "Input tokens that the hold covers in addition for a call that uses the feature.",
    0,
  ),
  hold_uses: setting(whole(1, 1000), "Uses whose fees the hold covers.", 1),
};

const plain = mapping(terms);
const sharing = mapping({
  ...terms,
  i_accept_shared_ids: described(
    v.literal(true, ACCEPTED),
    "All customers share the provider's account: a customer who knows an id of another one can use it.",
  ),
});

/** The schema of `features` for an upstream, a model or a route. */
export const features = mapping(
  Object.fromEntries(
    Object.entries<FeatureFacts>(FEATURES).map(([name, { sharesIds }]) => [
      name,
      v.optional(sharesIds ? sharing : plain),
    ]),
  ),
);

/** The terms on which a feature is sold. */
export type FeatureTerms = v.InferOutput<typeof plain>;

/** The features that a part of the config allows. */
export type AllowedFeatures = Readonly<Partial<Record<FeatureName, FeatureTerms>>>;

/** The amounts that the allowed features of a call add to its price. */
export interface Surcharge {
  readonly factor: number;
  /** Fees in đ for each use, by feature. */
  readonly fees: ReadonlyMap<FeatureName, number>;
  /** Input tokens that the hold covers in addition. */
  readonly holdTokens: number;
  /** Fees that the hold covers, in đ. */
  readonly holdFeesVnd: number;
  /** True if the input cannot be computed from the request. */
  readonly unbounded: boolean;
}
