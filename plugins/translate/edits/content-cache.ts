import { LRUCache } from "lru-cache";

/** Longest text whose result is kept, and of all of them together: the tools of an agent have 30 to 150 KB. */
const TEXT_CHARACTERS_MAX = 1_048_576;
const CHARACTERS_MAX = 16 * TEXT_CHARACTERS_MAX;

/** Keeps results by the text that they depend on alone. Drops those that were not used for the longest time. */
export class ContentCache<T extends NonNullable<unknown>> {
  private readonly results = new LRUCache<string, T>({
    maxSize: CHARACTERS_MAX,
    maxEntrySize: TEXT_CHARACTERS_MAX,
    sizeCalculation: (_, text) => text.length,
  });

  /** Returns the result for this text, which `make` computes the first time. Do not change it: others get it too. */
  get(text: string, make: () => T): T {
    const known = this.results.get(text);
    if (known !== undefined) return known;
    const result = make();
    this.results.set(text, result);
    return result;
  }
}
