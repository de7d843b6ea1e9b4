import { arrayOf, isObject, type JsonObject } from "../../core/plugin/index.ts";

/** Characters of quotes and separators around a value. */
const PUNCTUATION = 3;

/**
 * Counts the characters of a Messages request, without the data of its images and documents, which
 * no model reads as text. Does not write the request out: it may have megabytes.
 */
export function textCharacters(value: unknown): number {
  if (typeof value === "string") return value.length + PUNCTUATION;
  let characters = PUNCTUATION;
  for (const entry of arrayOf(value)) characters += textCharacters(entry);
  if (!isObject(value)) return characters;
  for (const [name, entry] of Object.entries(value)) {
    if (!isMedia(value, name)) characters += name.length + textCharacters(entry);
  }
  return characters;
}

/** Returns true for the data of `{"type":"base64","media_type":"image/png","data":"…"}`. */
function isMedia(source: JsonObject, name: string): boolean {
  if (name === "data") return source["type"] === "base64";
  return name === "url" && String(source["url"]).startsWith("data:");
}
