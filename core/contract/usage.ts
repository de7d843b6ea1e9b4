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
  /** True if the provider reported the input. A reported zero is a zero. */
  inputReported = false;
  /** True if the provider reported the final output. */
  outputReported = false;
}
