import { Delivered, isObject, type JsonObject, objectOf } from "../../core/contract/index.ts";
import { densityTokens } from "./density.ts";

/** Factors from bytes and media to tokens; settings of the plugin. */
export interface Factors {
  readonly asciiBytesPerToken: number;
  readonly otherBytesPerToken: number;
  readonly imageTokens: number;
  readonly documentBytesPerToken: number;
  /** Share of `densityTokens` that counts. */
  readonly densityShare: number;
}

/** The contents of a request, counted without a tokenizer. */
interface Contents {
  readonly text: Delivered;
  /** Tokens of the text beyond those of prose of the same length. */
  densityTokens: number;
  images: number;
  documentBytes: number;
  /** Messages, tools and other objects. Each adds a few tokens. */
  items: number;
}

const TOKENS_PER_ITEM = 5;
const NOT_READ = new Set(["model", "stream", "stream_options", "metadata", "user"]);

/**
 * Walks a request once and counts its text, including field names. Counts base64 as an image or document.
 */
export function contentsOf(body: JsonObject): Contents {
  const contents: Contents = {
    text: new Delivered(),
    densityTokens: 0,
    images: 0,
    documentBytes: 0,
    items: 0,
  };
  let level: unknown[] = [];
  for (const name in body) {
    const value = body[name];
    // Limits, temperatures and switches are not part of the model's input.
    if (!NOT_READ.has(name) && typeof value !== "number" && typeof value !== "boolean") {
      level.push(value);
    }
  }
  while (level.length > 0) {
    const below: unknown[] = [];
    for (const value of level) visit(value, contents, below);
    level = below;
  }
  return contents;
}

function visit(value: unknown, contents: Contents, below: unknown[]): void {
  if (typeof value === "string") {
    if (value.startsWith("data:")) countMedia(value.slice(5, 40), value.length, contents);
    else {
      contents.text.addText(value);
      contents.densityTokens += densityTokens(value);
    }
  } else if (Array.isArray(value)) {
    for (const entry of value) below.push(entry);
  } else if (isObject(value)) {
    // A text part is the same input as a plain string, and a translation may produce either, so both count
    // the same.
    const text = onlyText(value);
    if (text !== undefined) return visit(text, contents, below);
    contents.items++;
    if (countSource(value, contents)) return;
    for (const name in value) {
      contents.text.asciiBytes += name.length;
      below.push(value[name]);
    }
  } else contents.text.asciiBytes += 4;
}

/** Returns the text of a part that is just `{ type: "text", text }`; undefined for other parts. */
function onlyText(value: JsonObject): string | undefined {
  const { type, text } = value;
  if (type !== "text" || typeof text !== "string") return undefined;
  for (const name in value) if (name !== "type" && name !== "text") return undefined;
  return text;
}

/** Counts an object that carries media. Returns false if it is no such object. */
function countSource(value: JsonObject, contents: Contents): boolean {
  const { data } = value;
  if (value["type"] === "base64" && typeof data === "string") {
    const type = value["media_type"];
    countMedia(typeof type === "string" ? type : "", data.length, contents);
    return true;
  }
  // Audio input is `{ data, format }`. The size of a file by id or URL is unknown; most are images.
  if (typeof value["format"] === "string" && typeof data === "string") {
    contents.documentBytes += data.length;
    return true;
  }
  const isImage = value["type"] === "image" || value["type"] === "image_url";
  const address = objectOf(value["source"])?.["url"] ?? objectOf(value["image_url"])?.["url"];
  if (isImage && typeof address === "string" && !address.startsWith("data:")) {
    contents.images++;
    return true;
  }
  return false;
}

function countMedia(type: string, base64Length: number, contents: Contents): void {
  if (type.startsWith("image/")) contents.images++;
  else contents.documentBytes += base64Length;
}

/** Returns the tokens of the contents, rounded up. */
export function tokensOf(contents: Contents, factors: Factors): number {
  return Math.ceil(
    textTokens(contents.text, factors) +
      contents.densityTokens * factors.densityShare +
      contents.images * factors.imageTokens +
      contents.documentBytes / factors.documentBytesPerToken +
      contents.items * TOKENS_PER_ITEM,
  );
}

export function textTokens(text: Delivered, factors: Factors): number {
  return (
    text.asciiBytes / factors.asciiBytesPerToken + text.otherBytes / factors.otherBytesPerToken
  );
}
