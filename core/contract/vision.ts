import { arrayOf, type JsonObject, objectOf } from "../process/json.ts";
import type { Protocol } from "./protocol.ts";

const IMAGE_TYPES = new Set(["image", "image_url", "input_image"]);
/** Media types that models read. Some clients write `image/jpg` for `image/jpeg`. */
const FORMATS = new Set(["image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif"]);
/** Longer than any media type. Limits the search: up to 20 MB of image follow. */
const MEDIA_TYPE_CHARACTERS_MAX = 100;

type Images = "none" | "readable" | "unreadable";

/**
 * Looks for images in the turns of a request, tool results included. `readable`: all of them
 * declare a format that models read, or are given by an address, which declares none.
 */
export function imagesIn(body: JsonObject, protocol: Protocol): Images {
  if (protocol === "images" || protocol === "speech") return "none";
  let found: Images = "none";
  for (const turn of arrayOf(protocol === "responses" ? body["input"] : body["messages"])) {
    const content = objectOf(turn)?.["content"];
    // Most turns are plain text, and this code runs for every call.
    if (typeof content === "string") continue;
    const inTurn = imagesOf(content, false);
    if (inTurn === "unreadable") return inTurn;
    if (inTurn === "readable") found = inTurn;
  }
  return found;
}

function imagesOf(content: unknown, inResult: boolean): Images {
  let found: Images = "none";
  for (const entry of arrayOf(content)) {
    const part = objectOf(entry);
    const type = part?.["type"];
    if (!part || typeof type !== "string") continue;
    let images: Images = "none";
    if (IMAGE_TYPES.has(type)) images = isReadable(part) ? "readable" : "unreadable";
    // A tool result cannot hold another one. Deeper nesting is not followed, so it cannot overflow
    // the stack.
    else if (type === "tool_result" && !inResult) images = imagesOf(part["content"], true);
    if (images === "unreadable") return images;
    if (images === "readable") found = images;
  }
  return found;
}

function isReadable(image: JsonObject): boolean {
  const source = objectOf(image["source"]);
  if (source?.["type"] === "base64") return FORMATS.has(String(source["media_type"]).toLowerCase());
  // `image_url` is an object in Chat and a string in Responses.
  const url = objectOf(image["image_url"])?.["url"] ?? image["image_url"];
  if (typeof url !== "string" || !/^data:/i.test(url)) return true;
  const end = url.slice(0, MEDIA_TYPE_CHARACTERS_MAX).search(/[;,]/);
  return FORMATS.has(url.slice("data:".length, Math.max(end, 0)).toLowerCase());
}
