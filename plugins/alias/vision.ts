import { arrayOf, type JsonObject, objectOf } from "../../core/json.ts";
import type { Protocol } from "../../core/wire/wire.ts";

const IMAGE_TYPES = new Set(["image", "image_url", "input_image"]);

/** Whether the turns of a request hold an image, tool results included. */
export function holdsImage(body: JsonObject, protocol: Protocol): boolean {
  if (protocol === "images" || protocol === "speech") return false;
  const turns = arrayOf(protocol === "responses" ? body["input"] : body["messages"]);
  return turns.some((turn) => {
    const content = objectOf(turn)?.["content"];
    return arrayOf(content).some(isImage);
  });
}

function isImage(part: unknown): boolean {
  const block = objectOf(part);
  if (!block) return false;
  if (typeof block["type"] === "string" && IMAGE_TYPES.has(block["type"])) return true;
  return block["type"] === "tool_result" && arrayOf(block["content"]).some(isImage);
}
