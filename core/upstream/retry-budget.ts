/** Failures beyond the successes after which an upstream gets no more retries. */
const TOKENS_MAX = 10;

/**
 * Bounds the retries that reach one upstream, so that an outage is not multiplied: each failure takes a token, each whole
 * reply brings one back. Without tokens it gets only first attempts of calls. An upstream that works always has all of
 * them, however many calls come to it from one that fails.
 */
export class RetryBudget {
  private tokens = TOKENS_MAX;

  get allows(): boolean {
    return this.tokens > 0;
  }

  fail(): void {
    if (this.tokens > 0) this.tokens -= 1;
  }

  succeed(): void {
    if (this.tokens < TOKENS_MAX) this.tokens += 1;
  }
}
