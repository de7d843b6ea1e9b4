/** Counts of one endpoint of the simulator. Tests compare the gateway's records with them. */
export class Tally {
  calls = 0;
  open = 0;
  open_max = 0;
  /** Calls with a complete reply. */
  completed = 0;
  /** Calls that ended with a 4xx or 5xx, an error event, or a clean end too early. */
  failed = 0;
  /** Calls whose socket the simulator destroyed, as their directive asked. */
  cut = 0;
  /** Calls that the client aborted. */
  aborted = 0;
  writes = 0;
  bytes = 0;
  /** Total usage of the completed calls. */
  input_tokens = 0;
  output_tokens = 0;

  begin(): void {
    this.calls++;
    this.open++;
    if (this.open > this.open_max) this.open_max = this.open;
  }

  /** Resets all counts except that of open calls. */
  reset(): void {
    const { open } = this;
    Object.assign(this, new Tally(), { open, open_max: open });
  }
}

/** Counts the calls per failure key, for directives that fail only the first calls. */
export class Failures {
  readonly #seen = new Map<string, number>();

  /** Counts a call with this key. Returns true for the first `times` calls. */
  isAmongFirst(key: string, times: number): boolean {
    const seen = this.#seen.get(key) ?? 0;
    // More keys than any test uses. Bounds the memory.
    if (seen === 0 && this.#seen.size >= 100_000) this.#seen.clear();
    this.#seen.set(key, seen + 1);
    return seen < times;
  }

  clear(): void {
    this.#seen.clear();
  }
}
