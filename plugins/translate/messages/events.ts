import type { JsonObject } from "../../../core/plugin/index.ts";

/** Writes an event of Messages. Most events are deltas. A template for their outer part halves the cost of JSON.stringify. */
export function eventText(event: JsonObject): string {
  if (event.type !== "content_block_delta") return JSON.stringify(event);
  const { type, index, delta } = event;
  return `{"type":"${type}","index":${String(index)},"delta":${JSON.stringify(delta)}}`;
}
