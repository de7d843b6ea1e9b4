/** What one endpoint of the simulator has seen; the ground truth for tests of a gateway. */
export class Tally {
  calls = 0;
  open = 0;
  open_max = 0;
  /** Answered in full. */
  completed = 0;
  /** Answered with a 4xx or 5xx, an error event, or a clean end too early. */
  failed = 0;
  /** Destroyed by the simulator, as a directive asked. */
  cut = 0;
  /** Given up by the client. */
  aborted = 0;
  writes = 0;
  bytes = 0;
  /** Sums of the usage in the answers that were completed. */
  input_tokens = 0;
  output_tokens = 0;

  begin(): void {
    this.calls++;
    this.open++;
    if (this.open > this.open_max) this.open_max = this.open;
  }

  /** Starts anew; calls still open stay counted as open. */
  reset(): void {
    const { open } = this;
    Object.assign(this, new Tally(), { open, open_max: open });
  }
}

/** How often each failure key was seen, for directives that fail the first calls only. */
export class Failures {
  readonly #seen = new Map<string, number>();

  /** Counts a call with this key; true while it is one of the first `times`. */
  strikes(key: string, times: number): boolean {
    const seen = this.#seen.get(key) ?? 0;
    // A hundred thousand keys are more than any test uses; beyond, old ones must not fill the memory.
    if (seen === 0 && this.#seen.size >= 100_000) this.#seen.clear();
    this.#seen.set(key, seen + 1);
    return seen < times;
  }

  clear(): void {
    this.#seen.clear();
  }
}
