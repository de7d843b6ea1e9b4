import leven from "leven";
import type { Call, Model } from "../../core/plugin/index.ts";

const SHOWN_MAX = 3;
/** A longer name is compared by its start: the time grows with the product of the lengths. */
const COMPARED_CHARACTERS_MAX = 64;
/** Ids whose distance is computed: those that share the most pairs of characters with the name. */
const COMPARED_IDS_MAX = 40;

/** The models that have a pair of neighbouring characters in their ids, by the pair. */
type Pairs = ReadonlyMap<string, readonly number[]>;

/** One for each catalogue: to compare a name with all of 2,000 ids would take 20 ms of the one thread. */
const pairsOfModels = new WeakMap<readonly Model[], Pairs>();

/** Returns the ids that an endpoint serves and that are spelled most like a name, the nearest first. */
export function nearest(
  name: string,
  endpoint: Pick<Call["endpoint"], "serves">,
  models: readonly Model[],
): string[] {
  const asked = name.slice(0, COMPARED_CHARACTERS_MAX).toLowerCase();
  const shared = sharedPairs(asked, models);
  return models
    .map(({ id, standard }, at) => ({ id, standard, shared: shared[at] ?? 0 }))
    .filter(({ standard }) => endpoint.serves.includes(standard))
    .sort((a, b) => b.shared - a.shared)
    .slice(0, COMPARED_IDS_MAX)
    .map(({ id }) => ({ id, distance: leven(asked, id.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, SHOWN_MAX)
    .map(({ id }) => id);
}

/** Returns how many pairs of each model's id are in the name. */
function sharedPairs(name: string, models: readonly Model[]): Uint16Array {
  const pairs = pairsOfModels.get(models) ?? indexed(models);
  const shared = new Uint16Array(models.length);
  for (const pair of pairsOf(name)) {
    for (const at of pairs.get(pair) ?? []) shared[at] = (shared[at] ?? 0) + 1;
  }
  return shared;
}

function indexed(models: readonly Model[]): Pairs {
  const pairs = new Map<string, number[]>();
  for (const [at, { id }] of models.entries()) {
    for (const pair of pairsOf(id.toLowerCase())) {
      const found = pairs.get(pair);
      if (found === undefined) pairs.set(pair, [at]);
      else found.push(at);
    }
  }
  pairsOfModels.set(models, pairs);
  return pairs;
}

function pairsOf(text: string): Set<string> {
  return new Set(
    Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)),
  );
}
