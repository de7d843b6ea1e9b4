import { arrayOf, type JsonObject, objectOf } from "../process/json.ts";
import type { Protocol } from "./protocol.ts";

const IMAGE_TYPES = new Set(["image", "image_url", "input_image"]);
/** Media types that models read. Some clients write `image/jpg` for `image/jpeg`. */
const FORMATS = new Set(["image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif"]);
/** Longer than any media type. Limits the search: up to 20 MB of image follow. */
const MEDIA_TYPE_CHARACTERS_MAX = 100;

/** Line breaks may be in it, as some encoders write them, and the letters of both alphabets. */
const BASE64 = /^[\w+/\r\n-]*={0,2}[\r\n]*$/;
/** Of longer data, only so much at the start and the end is checked: images have megabytes. */
const CHECKED_CHARACTERS = 2_048;

type Images = "none" | "readable" | "unreadable" | "broken";

/**
 * Looks for images in the turns of a request, tool results included. `readable`: all of them
 * declare a format that models read, or are given by an address, which declares none. `broken`: the
 * data of one is not base64. `last`: only in the turns after the last one of the model.
 */
export function imagesIn(
  body: JsonObject,
  protocol: Protocol,
  part: "all" | "last" = "all",
): Images {
  if (protocol === "images" || protocol === "speech") return "none";
  let found: Images = "none";
  const turns = arrayOf(protocol === "responses" ? body["input"] : body["messages"]);
  const isOfModel = (turn: unknown) => objectOf(turn)?.["role"] === "assistant";
  for (const turn of part === "all" ? turns : turns.slice(turns.findLastIndex(isOfModel) + 1)) {
    const content = objectOf(turn)?.["content"];
    // Most turns are plain text, and this code runs for every call.
    if (typeof content === "string") continue;
    const inTurn = imagesOf(content, false);
    if (isFault(inTurn)) return inTurn;
    if (inTurn === "readable") found = inTurn;
  }
  return found;
}

const isFault = (images: Images) => images === "unreadable" || images === "broken";

function imagesOf(content: unknown, inResult: boolean): Images {
  let found: Images = "none";
  for (const entry of arrayOf(content)) {
    const part = objectOf(entry);
    const type = part?.["type"];
    if (!part || typeof type !== "string") continue;
    let images: Images = "none";
    if (IMAGE_TYPES.has(type)) images = imageOf(part);
    // A tool result cannot hold another one. Deeper nesting is not followed, so it cannot overflow
    // the stack.
    else if (type === "tool_result" && !inResult) images = imagesOf(part["content"], true);
    if (isFault(images)) return images;
    if (images === "readable") found = images;
  }
  return found;
}

function imageOf(image: JsonObject): Images {
  const source = objectOf(image["source"]);
  if (source?.["type"] === "base64") {
    return stateOf(String(source["media_type"]), source["data"]);
  }
  // `image_url` is an object in Chat and a string in Responses.
  const url = objectOf(image["image_url"])?.["url"] ?? image["image_url"];
  if (typeof url !== "string" || !/^data:/i.test(url)) return "readable";
  const end = url.slice(0, MEDIA_TYPE_CHARACTERS_MAX).search(/[;,]/);
  const type = url.slice("data:".length, Math.max(end, 0));
  const [encoding = ""] = /;base64,/i.exec(url.slice(0, 2 * MEDIA_TYPE_CHARACTERS_MAX)) ?? [];
  // Without it, the data may be percent-encoded.
  if (encoding === "") return stateOf(type, "");
  return stateOf(type, url.slice(url.indexOf(encoding) + encoding.length));
}

function stateOf(mediaType: string, data: unknown): Images {
  if (!FORMATS.has(mediaType.toLowerCase())) return "unreadable";
  return typeof data === "string" && isBase64(data) ? "readable" : "broken";
}

function isBase64(data: string): boolean {
  if (data.length <= 2 * CHECKED_CHARACTERS) return BASE64.test(unescaped(data));
  const start = unescaped(data.slice(0, CHECKED_CHARACTERS));
  const end = unescaped(data.slice(-CHECKED_CHARACTERS));
  return !start.includes("=") && BASE64.test(start) && BASE64.test(end);
}

/** Replaces each percent-encoded character, which data URLs may have, by a letter. */
function unescaped(data: string): string {
  return data.includes("%") ? data.replace(/%(?:[0-9a-f]{2}|[0-9a-f]?$)/gi, "A") : data;
}
