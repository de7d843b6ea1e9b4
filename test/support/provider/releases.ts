/** Maximum number of names, more than any test uses: bounds the memory. */
const namesMax = 10_000;

/** Waits that end when their name is released, or after their time. */
export class Releases {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #released = new Set<string>();

  /** Ends the waits of this name, those that begin later too. */
  release(name: string): void {
    if (this.#released.size >= namesMax) this.#released.clear();
    this.#released.add(name);
    for (const end of this.#waiting.get(name) ?? []) end();
  }

  clear(): void {
    this.#released.clear();
  }

  /**
   * Runs `then` after `ms`, or when the name is released. Returns a function that stops the wait.
   */
  wait(name: string, ms: number, then: () => void): () => void {
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting);
    const stop = () => {
      clearTimeout(timer);
      waiting.delete(end);
      if (waiting.size === 0) this.#waiting.delete(name);
    };
    const end = () => {
      stop();
      then();
    };
    const timer = setTimeout(end, this.#released.has(name) ? 0 : ms);
    waiting.add(end);
    return stop;
  }
}
