import type { FeatureName } from "../../catalogue/features.ts";

/**
 * The usage of a call, in one form for all protocols.
 *
 * Input includes cache reads, cache writes and images. Output includes reasoning. These parts are
 * for the usage record; they are not billed again.
 */
export class Usage {
  inputTokens = 0;
  cacheReadTokens = 0;
  cacheWriteTokens = 0;
  outputTokens = 0;
  reasoningTokens = 0;
  images = 0;
  /** Uses of priced features, as the provider reported them; undefined if it reported none. */
  uses: Partial<Record<FeatureName, number>> | undefined = undefined;
  /** True if the provider reported the input, even as 0. */
  inputReported = false;
  /** True if the provider reported the final output. */
  outputReported = false;
  /** How often the provider has reported its output. An early report is not the final one. */
  outputReports = 0;
  /** Output tokens that the gateway had counted when the provider reported its output last. */
  deliveredAtReport = 0;
  /** True if the provider reported its reasoning, even if that was 0. */
  reasoningReported = false;
  /** True if the provider is known to report cached tokens beside the input (profile: `cached_tokens`). */
  cachedBeside = false;
  /** True if the provider reported one number for input and output together. All of it counts as input here. */
  totalOnly = false;
  /**
   * Further passes of the same call, such as a compaction, an advisor or the making of an image.
   * Their tokens are part of the input and output above.
   */
  passes: readonly Pass[] = NO_PASSES;
  /**
   * The usage of the main pass, if its reports come in parts or beside `passes`; undefined if it is all of the above.
   * Only the readers of reports use it.
   */
  main: MainPass | undefined = undefined;
}

/** One pass of a model over a conversation, besides the main one. */
export interface Pass {
  /** The provider's name of the model; null if it is the model of the call. */
  readonly model: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** The main pass, as the Messages protocol reports it: cached tokens and images beside the input. */
export interface MainPass {
  freshTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  imageTokens: number;
  outputTokens: number;
}

const NO_PASSES: readonly Pass[] = [];
