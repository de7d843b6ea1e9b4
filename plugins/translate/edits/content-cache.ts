import { LRUCache } from "lru-cache";
import { isObject } from "../../../core/plugin/index.ts";

/** Largest content, as JSON, whose result is kept, and of all of them together: the tools of an agent have 30 to 150 KB. */
const CONTENT_CHARACTERS_MAX = 1_048_576;
const CHARACTERS_MAX = 16 * CONTENT_CHARACTERS_MAX;

interface Kept<T> {
  readonly content: unknown;
  readonly characters: number;
  readonly result: T;
}

/** Keeps results by the JSON that they depend on alone. Drops those that were not used for the longest time. */
export class ContentCache<T extends NonNullable<unknown>> {
  private readonly kept = new LRUCache<string, Kept<T>>({
    maxSize: CHARACTERS_MAX,
    maxEntrySize: CONTENT_CHARACTERS_MAX,
    sizeCalculation: ({ characters }) => characters,
  });

  /**
   * Returns the result for this content, which `make` computes the first time. Do not change it: others get it too. Of
   * contents with the same `mark`, only the last one is kept. To compare two takes a third of the time of writing one.
   */
  get(mark: string, content: unknown, make: () => T): T {
    const known = this.kept.get(mark);
    if (known !== undefined && isSame(known.content, content)) return known.result;
    const result = make();
    const characters = mark.length + JSON.stringify(content).length;
    // A copy: the request's own may be edited later.
    this.kept.set(mark, { content: structuredClone(content), characters, result });
    return result;
  }
}

/** Returns true for two trees of one JSON, names in the same order. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((entry, at) => isSame(entry, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  const others = Object.keys(other);
  if (names.length !== others.length) return false;
  return names.every((name, at) => name === others[at] && isSame(one[name], other[name]));
}
