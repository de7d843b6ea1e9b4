import {
  arrayOf,
  Delivered,
  isObject,
  type JsonObject,
  objectOf,
  RawJson,
  type RequestBody,
} from "../../core/plugin/index.ts";
import { densityTokens } from "./density.ts";
import type { Overhead } from "./families.ts";
import { Inflation } from "./inflation.ts";
import { addMedia, documentTokens, hasFiles, imageTokens, type Media } from "./media.ts";

/** Factors from bytes and media to tokens; settings of the plugin. */
export interface Factors {
  readonly asciiBytesPerToken: number;
  readonly otherBytesPerToken: number;
  /** True for a bound: the maximum that a request can use. False for a likely value. */
  readonly isBound: boolean;
  /** Tokens of an image whose size is unknown. A bound uses the maximum that the model counts if that is more. */
  readonly imageTokens: number;
  readonly documentBytesPerToken: number;
  /** Share of `densityTokens` that counts. */
  readonly densityShare: number;
  /** The share of the provider's additional tokens that counts. */
  readonly overheadShare: number;
}

/** The contents of a request, counted without a tokenizer. */
interface Contents extends Media {
  readonly text: Delivered;
  /** Tokens of the text beyond those of prose of the same length. */
  densityTokens: number;
  /** Base64 of encrypted reasoning and of signatures, which grow with the reasoning they carry. */
  opaqueBytes: number;
  /** Messages, tools and other objects. Each adds a few tokens. */
  items: number;
  readonly hasTools: boolean;
  readonly builtInTools: number;
  readonly hasSchema: boolean;
  /** Tokens of a mode in which the provider runs prompts of its own. */
  readonly modeTokens: number;
}

/** The numbers of the contents: plain data. */
export type PlainContents = Omit<Contents, "inflation" | "text"> & {
  readonly text: Pick<Delivered, "asciiBytes" | "otherBytes">;
};

/** A top-level list, and the contents of a body that has it alone. They must have no files, see `hasFiles`. */
interface Counted {
  readonly list: unknown;
  readonly contents: PlainContents;
}

function addCounted(part: PlainContents, contents: Contents): void {
  contents.text.asciiBytes += part.text.asciiBytes;
  contents.text.otherBytes += part.text.otherBytes;
  contents.densityTokens += part.densityTokens;
  contents.opaqueBytes += part.opaqueBytes;
  contents.items += part.items;
}

/** Frames of messages take 3 to 5 tokens (developers.openai.com, counting tokens; templates of others). */
const TOKENS_PER_ITEM = 5;
const NOT_READ = new Set([
  ...["model", "stream", "stream_options"],
  ...["metadata", "user", "prompt_cache_key"],
]);

/** For reasoning that only its maker can read: 4 characters a token or more, since it is base64. */
const OPAQUE_BYTES_PER_TOKEN = 4;
const OPAQUE = new Set(["encrypted_content", "thought_signature", "signature", "data"]);
const REASONING = new Set<unknown>(["thinking", "redacted_thinking", "reasoning"]);

/** `reasoning.mode: pro` of OpenAI's Responses. Recorded: 1,497. */
const PRO_MODE_TOKENS = 1_600;

/** Types of tools whose definition is in the request. The provider defines all others. */
const DEFINED_TOOLS = new Set<unknown>([undefined, "function", "custom", "namespace"]);

/** Counts the contents of a request. Takes the part that a thread has counted from it, unless that has files. */
export function contentsIn(body: RequestBody, measure: string): PlainContents {
  const { measured } = body;
  const known = measured?.values[measure] as PlainContents | undefined;
  if (known && measured?.field === undefined) return known;
  const isCounted = known !== undefined && !hasFiles(known);
  if (!isCounted) for (const name of body.standIns) body.read(name);
  const { outline } = body;
  const list = outline[measured?.field ?? ""];
  return contentsOf(outline, isCounted ? { list, contents: known } : undefined);
}

/**
 * Walks a request once and counts its text, including field names. Counts files by their kind. `counted`: a field that
 * was counted before.
 */
export function contentsOf(body: JsonObject, counted?: Counted): Contents {
  const tools = arrayOf(body["tools"]).length + arrayOf(body["functions"]).length;
  // All fields in one literal: V8 makes an object with spread fields many times slower, and this is done for each call.
  const contents: Contents = {
    images: [],
    pages: 0,
    pdfBytes: 0,
    pdfTextBytes: 0,
    officeBytes: 0,
    otherBytes: 0,
    audioSeconds: 0,
    inflation: new Inflation(),
    text: new Delivered(),
    densityTokens: 0,
    opaqueBytes: 0,
    items: 0,
    hasTools: tools > 0,
    builtInTools: tools === 0 ? 0 : builtInTools(body),
    hasSchema: hasSchema(body),
    modeTokens: objectOf(body["reasoning"])?.["mode"] === "pro" ? PRO_MODE_TOKENS : 0,
  };
  for (const name in body) {
    const value = body[name];
    // Limits, temperatures and switches are not part of the model's input.
    if (!NOT_READ.has(name) && typeof value !== "number" && typeof value !== "boolean") {
      // Sums of fractions depend on their order: each field has its own, so that a thread can make it.
      const { densityTokens: others } = contents;
      contents.densityTokens = 0;
      if (counted && value === counted.list) addCounted(counted.contents, contents);
      else visit(value, contents);
      contents.densityTokens += others;
    }
  }
  return contents;
}

function builtInTools(body: JsonObject): number {
  const tools = [...arrayOf(body["tools"]), ...arrayOf(body["functions"])];
  return tools.filter((tool) => !DEFINED_TOOLS.has(objectOf(tool)?.["type"])).length;
}

/** Returns true if a request asks for structured output. */
function hasSchema(body: JsonObject): boolean {
  const format =
    body["response_format"] ??
    body["output_format"] ??
    objectOf(body["output_config"])?.["format"] ??
    objectOf(body["text"])?.["format"];
  const type = objectOf(format)?.["type"];
  return type !== undefined && type !== "text";
}

/** Fields of parts in which a data URL is a file. Elsewhere it is text of any length. */
const DATA_FIELDS = new Set(["url", "image_url", "image", "file_url", "file_data", "data"]);
/** Schemas, and examples of a tool's arguments. */
const PLAIN_FIELDS = new Set(["input_schema", "input_examples", "parameters", "schema"]);
/** All fields that are not only text: most fields are none of these, and take one look-up. */
const SPECIAL_FIELDS = new Set([...OPAQUE, ...DATA_FIELDS, ...PLAIN_FIELDS, "input"]);
const TOOL_USE = /(?:tool|mcp)_(?:use|call)$/;

/** The nesting of a request is bounded, so that recursion has an end. */
function visit(value: unknown, contents: Contents): void {
  if (typeof value === "string") countText(value, contents);
  else if (Array.isArray(value)) for (const entry of value) visit(entry, contents);
  else if (value instanceof RawJson) contents.text.asciiBytes += value.text.length;
  else if (isObject(value)) visitPart(value, contents);
  else contents.text.asciiBytes += 4;
}

function visitPart(value: JsonObject, contents: Contents): void {
  // A text part is the same input as a plain string, and a translation may produce either, so both count
  // the same.
  const text = onlyText(value);
  if (text !== undefined) return countText(text, contents);
  contents.items++;
  if (countSource(value, contents)) return;
  for (const name in value) {
    const field = value[name];
    // A mark is no part of the prompt, and the gateway sets some itself.
    if (name === "cache_control") continue;
    contents.text.asciiBytes += name.length;
    if (SPECIAL_FIELDS.has(name)) visitSpecial(name, field, value["type"], contents);
    else visit(field, contents);
  }
}

/** Visits a field of `SPECIAL_FIELDS`. `type` is that of its part. */
function visitSpecial(name: string, field: unknown, type: unknown, contents: Contents): void {
  const isInput = name === "input" && typeof type === "string" && TOOL_USE.test(type);
  if (isOpaque(name, field, REASONING.has(type))) contents.opaqueBytes += field.length;
  else if (isDataUrl(name, field, type)) countDataUrl(field, contents);
  else if (isInput || PLAIN_FIELDS.has(name)) visitPlain(field, contents);
  else visit(field, contents);
}

/** Visits values that a model reads as JSON, in which nothing is a file. */
function visitPlain(value: unknown, contents: Contents): void {
  if (typeof value === "string") countText(value, contents);
  else if (value instanceof RawJson) contents.text.asciiBytes += value.text.length;
  else if (Array.isArray(value)) for (const entry of value) visitPlain(entry, contents);
  else if (isObject(value)) {
    contents.items++;
    for (const name in value) {
      contents.text.asciiBytes += name.length;
      visitPlain(value[name], contents);
    }
  } else contents.text.asciiBytes += 4;
}

function isDataUrl(name: string, field: unknown, type: unknown): field is string {
  if (typeof field !== "string" || !DATA_FIELDS.has(name)) return false;
  return type !== TEXT_SOURCE && field.startsWith("data:");
}

function isOpaque(name: string, field: unknown, isReasoning: boolean): field is string {
  if (typeof field !== "string" || !OPAQUE.has(name)) return false;
  return isReasoning || name === "encrypted_content" || name === "thought_signature";
}

function countText(text: string, contents: Contents): void {
  contents.text.addText(text);
  contents.densityTokens += densityTokens(text);
}

/** Returns the text of a part that is just `{ type: "text", text }`, marked or not; undefined for other parts. */
function onlyText(value: JsonObject): string | undefined {
  const { type, text } = value;
  if (type !== "text" || typeof text !== "string") return undefined;
  for (const name in value) {
    if (name !== "type" && name !== "text" && name !== "cache_control") return undefined;
  }
  return text;
}

/** `{ type: "text", media_type, data }` of Messages: a document that a model reads as it is. */
const TEXT_SOURCE = "text";
const IMAGES = new Set<unknown>(["image", "image_url", "input_image"]);

/** Counts an object that carries media. Returns false if it is no such object. */
function countSource(value: JsonObject, contents: Contents): boolean {
  const { data } = value;
  if (value["type"] === TEXT_SOURCE) return false;
  if (value["type"] === "base64" && typeof data === "string") {
    const type = value["media_type"];
    countFile(typeof type === "string" ? type : "", data, contents);
    return true;
  }
  // Audio input is `{ data, format }`.
  const format = value["format"];
  if (typeof format === "string" && typeof data === "string") {
    countFile(`audio/${format}`, data, contents);
    return true;
  }
  if (!IMAGES.has(value["type"])) return false;
  // The size of a file by id or URL is unknown; most are images.
  const { image_url: image } = value;
  const address = objectOf(value["source"])?.["url"] ?? objectOf(image)?.["url"] ?? image;
  if (typeof address === "string" && !address.startsWith("data:")) {
    contents.images.push(undefined);
    return true;
  }
  return false;
}

/** The longest head of a data URL: `data:application/…;charset=…;base64,`. */
const HEAD_MAX = 256;

function countDataUrl(url: string, contents: Contents): void {
  const comma = url.slice(0, HEAD_MAX).indexOf(",");
  if (comma === -1) return countText(url, contents);
  countFile(url.slice(5, comma), url.slice(comma + 1), contents);
}

function countFile(type: string, base64: string, contents: Contents): void {
  const text = addMedia(type.toLowerCase(), base64, contents);
  if (text !== undefined) countText(text, contents);
}

/** Returns the tokens of the contents for a model with this overhead, rounded up. */
export function tokensOf(contents: PlainContents, factors: Factors, overhead: Overhead): number {
  const text = textTokens(contents.text, factors) + contents.densityTokens * factors.densityShare;
  return Math.ceil(
    (text * overhead.text_percent) / 100 +
      contents.opaqueBytes / OPAQUE_BYTES_PER_TOKEN +
      contents.images.reduce((sum, size) => sum + imageTokensOf(size, factors, overhead), 0) +
      documentTokens(contents, overhead) +
      contents.otherBytes / factors.documentBytesPerToken +
      contents.audioSeconds * overhead.audio_second +
      contents.items * TOKENS_PER_ITEM +
      addedTokens(contents, overhead) * factors.overheadShare,
  );
}

function imageTokensOf(size: Contents["images"][number], factors: Factors, overhead: Overhead) {
  if (size) return imageTokens(size, overhead.image);
  return (factors.isBound ? Math.max : Math.min)(factors.imageTokens, overhead.image.most);
}

/** Returns the tokens that the provider adds for the features of a request. */
function addedTokens(contents: PlainContents, overhead: Overhead): number {
  return (
    overhead.request +
    (contents.hasTools ? overhead.tools : 0) +
    contents.builtInTools * overhead.built_in_tool +
    (contents.hasSchema ? overhead.schema : 0) +
    contents.modeTokens
  );
}

export function textTokens(text: PlainContents["text"], factors: Factors): number {
  return (
    text.asciiBytes / factors.asciiBytesPerToken + text.otherBytes / factors.otherBytesPerToken
  );
}
