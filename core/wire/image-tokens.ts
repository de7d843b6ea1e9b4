import type { Usage } from "../contract/usage.ts";
import { countOf, type JsonObject } from "../process/json.ts";

/**
 * Adds image tokens to the input, as which they are billed. Nearly all providers include them in
 * their input. If the total is at least input, output and image tokens together, the provider does
 * not.
 */
export function readDetachedImages(reported: JsonObject, usage: Usage): void {
  const images = countOf(reported["image_tokens"]);
  if (images === undefined || images === 0) return;
  const total = countOf(reported["total_tokens"]);
  const inside = total !== undefined && total < usage.inputTokens + usage.outputTokens + images;
  if (!inside) usage.inputTokens += images;
}
