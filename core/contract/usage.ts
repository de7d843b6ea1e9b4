/**
 * What a call used, in one vector for all protocols.
 *
 * Input holds all input: cache reads, cache writes and images included. Output holds all output:
 * reasoning included. The parts are kept for the usage record, they are never billed again.
 */
export class Usage {
  inputTokens = 0;
  cacheReadTokens = 0;
  cacheWriteTokens = 0;
  outputTokens = 0;
  reasoningTokens = 0;
  images = 0;
  /** The provider said how much input there was; a zero it reports is a zero. */
  inputReported = false;
  /** The provider said how much output there was in the end. */
  outputReported = false;
}
