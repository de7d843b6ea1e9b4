import { PROTOCOLS, type Protocol } from "../catalogue/endpoint.ts";
import { arrayOf, type JsonObject, objectOf } from "../process/json.ts";

const IMAGE_TYPES = new Set(["image", "image_url", "input_image"]);
/** Data URLs of documents, which some clients send as images. Without a type it is plain text. */
const DOCUMENT = /^data:(?:text\/|application\/pdf\b|[;,])/i;
const SYSTEM_ROLES = new Set(["system", "developer"]);
/** Media types that models read. Some clients write `image/jpg` for `image/jpeg`. */
const FORMATS = new Set(["image/jpeg", "image/jpg", "image/png", "image/webp", "image/gif"]);
/** Maximum length of a media type. Limits the search: up to 20 MB of image follow. */
const MEDIA_TYPE_CHARACTERS_MAX = 100;

/** Base64 may have line breaks, as some encoders write them, and the letters of both alphabets. */
const BASE64 = /^[\w+/\r\n-]*={0,2}[\r\n]*$/;
/** How much of longer data is checked at its start and at its end: images have megabytes. */
const CHECKED_CHARACTERS = 2_048;

/** `unreadable`: of a format that models do not read. `broken`: its data is not base64. */
type ImageFault = "unreadable" | "broken";

/**
 * Looks for images in the turns of a request, tool results included. Returns the fault of the first one that has one. One
 * that is given by an address declares no format, and has none.
 */
export function imageFault(body: JsonObject, protocol: Protocol): ImageFault | undefined {
  if (PROTOCOLS[protocol].conversation === undefined) return undefined;
  for (const turn of turnsOf(body, protocol)) {
    const content = objectOf(turn)?.["content"];
    // Most turns are plain text, and this code runs for every call.
    const fault = typeof content === "string" ? undefined : faultIn(content, false);
    if (fault) return fault;
  }
  return undefined;
}

/**
 * Returns true if the user shows an image in the last turn. One in a tool's result does not count: no user chose it,
 * and the agent sends it with each later call. Chat has no images in results, so clients send them in a user message
 * right after the results.
 */
export function endsWithImage(body: JsonObject, protocol: Protocol): boolean {
  if (PROTOCOLS[protocol].conversation === undefined) return false;
  const turns = turnsOf(body, protocol).map(objectOf);
  const spoken = turns.filter((turn) => !SYSTEM_ROLES.has(String(turn?.["role"])));
  const last = spoken.at(-1);
  if (last?.["role"] !== "user" || isChatResult(spoken.at(-2))) return false;
  return arrayOf(last["content"]).some((entry) => isImage(objectOf(entry)));
}

/** Returns true for a part of a turn that is an image, in any protocol. */
export function isImage(part: JsonObject | undefined): boolean {
  return IMAGE_TYPES.has(String(part?.["type"])) && documentUrlOf(part) === undefined;
}

/** Returns the data URL of a text or a PDF that a client sends as an image; undefined for others. */
export function documentUrlOf(part: JsonObject | undefined): string | undefined {
  const url = part && urlOf(part);
  return typeof url === "string" && DOCUMENT.test(url) ? url : undefined;
}

/** Returns the address of an image: `image_url` is an object in Chat and a string in Responses. */
function urlOf(image: JsonObject): unknown {
  return objectOf(image["image_url"])?.["url"] ?? image["image_url"];
}

function isChatResult(turn: JsonObject | undefined): boolean {
  return turn?.["role"] === "tool" || turn?.["type"] === "function_call_output";
}

function turnsOf(body: JsonObject, protocol: Protocol): readonly unknown[] {
  return arrayOf(body[PROTOCOLS[protocol].conversation ?? ""]);
}

function faultIn(content: unknown, inResult: boolean): ImageFault | undefined {
  for (const entry of arrayOf(content)) {
    const part = objectOf(entry);
    if (typeof part?.["type"] !== "string") continue;
    // A tool result cannot hold another one. Deeper nesting is not followed, so it cannot overflow the stack.
    const isResult = part["type"] === "tool_result" && !inResult;
    const inner = isResult ? faultIn(part["content"], true) : undefined;
    const fault = isImage(part) ? faultOf(part) : inner;
    if (fault) return fault;
  }
  return undefined;
}

function faultOf(image: JsonObject): ImageFault | undefined {
  const source = objectOf(image["source"]);
  if (source?.["type"] === "base64") {
    return faultOfData(String(source["media_type"]), source["data"]);
  }
  const url = urlOf(image);
  if (typeof url !== "string" || !/^data:/i.test(url)) return undefined;
  const end = url.slice(0, MEDIA_TYPE_CHARACTERS_MAX).search(/[;,]/);
  const type = url.slice("data:".length, Math.max(end, 0));
  const [encoding = ""] = /;base64,/i.exec(url.slice(0, 2 * MEDIA_TYPE_CHARACTERS_MAX)) ?? [];
  // Data that is not base64 may be percent-encoded.
  if (encoding === "") return faultOfData(type, "");
  return faultOfData(type, url.slice(url.indexOf(encoding) + encoding.length));
}

function faultOfData(mediaType: string, data: unknown): ImageFault | undefined {
  if (!FORMATS.has(mediaType.toLowerCase())) return "unreadable";
  return typeof data === "string" && isBase64(data) ? undefined : "broken";
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
