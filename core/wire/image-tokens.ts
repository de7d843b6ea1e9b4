import type { Usage } from "../contract/usage.ts";
import { countOf, type JsonObject } from "../process/json.ts";

/**
 * Image tokens are billed as input. Nearly all providers count them inside their input already; one that
 * reports `image_tokens` beside its input and output shows it by a total that holds all three.
 */
export function readDetachedImages(reported: JsonObject, usage: Usage): void {
  const images = countOf(reported["image_tokens"]);
  if (images === undefined || images === 0) return;
  const total = countOf(reported["total_tokens"]);
  const inside = total !== undefined && total < usage.inputTokens + usage.outputTokens + images;
  if (!inside) usage.inputTokens += images;
}
