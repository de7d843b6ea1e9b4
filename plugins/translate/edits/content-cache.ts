/** Longest text whose result is kept, and of all of them together: the tools of an agent have 30 to 150 KB. */
const TEXT_CHARACTERS_MAX = 1_048_576;
const CHARACTERS_MAX = 16 * TEXT_CHARACTERS_MAX;

/** Keeps results by the text that they depend on alone. Drops those that were not used for the longest time. */
export class ContentCache<T> {
  private readonly results = new Map<string, T>();
  private characters = 0;

  /** Returns the result for this text, which `make` computes the first time. Do not change it: others get it too. */
  get(text: string, make: () => T): T {
    const known = this.results.get(text);
    const result = known ?? make();
    if (text.length > TEXT_CHARACTERS_MAX) return result;
    if (known === undefined) this.characters += text.length;
    else this.results.delete(text);
    this.results.set(text, result);
    for (const oldest of this.results.keys()) {
      if (this.characters <= CHARACTERS_MAX) break;
      this.results.delete(oldest);
      this.characters -= oldest.length;
    }
    return result;
  }
}
