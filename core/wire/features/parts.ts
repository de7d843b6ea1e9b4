import { arrayOf, type JsonObject, objectOf } from "../../process/json.ts";
import type { Found } from "./found.ts";
import { type Row, WORDS } from "./table.ts";

/** Parts of turns, tool results and input items beyond their own text and media. */
const ROWS = {
  fileId: {
    rule: "demand",
    feature: "files",
    why: "files are not kept here",
    instead: WORDS.sendContent,
  },
  remoteFile: {
    rule: "demand",
    feature: "remote_files",
    why: "only images may be given as a URL",
    instead: WORDS.sendContent,
  },
  containerUpload: {
    rule: "demand",
    feature: "containers",
    why: "containers are not offered",
    instead: WORDS.sendContent,
  },
  stored: {
    rule: "demand",
    feature: "stored_state",
    why: WORDS.noState,
    instead: WORDS.sendContent,
  },
  longCache: {
    rule: "hint",
    feature: "long_cache",
    why: "long cache entries cost more",
    instead: "leave ttl out",
  },
} as const satisfies Readonly<Record<string, Row>>;

/** Deeper parts are not read: no protocol nests them, and deep JSON must not overflow the stack. */
const LEVELS_MAX = 4;
const DATA_URL = /^data:/i;
const PDF = /\.pdf(?:[?#]|$)/i;

/** Finds what the content of a turn or of a tool result carries. */
export function findInContent(content: unknown, path: string, found: Found, level = 0): void {
  if (!Array.isArray(content) || level === LEVELS_MAX) return;
  for (let at = 0; at < content.length; at++) {
    const part = objectOf(content[at]);
    if (!part) continue;
    const { type } = part;
    if (part["cache_control"] != null) findInMark(part, found);
    // Nearly all parts are text.
    if (type === "text" || type === "input_text" || type === "output_text") continue;
    findInPart(part, typeof type === "string" ? type : "", `${path}[${at}]`, found, level);
  }
}

function findInPart(
  part: JsonObject,
  type: string,
  path: string,
  found: Found,
  level: number,
): void {
  if (type === "container_upload") found.add(ROWS.containerUpload, path, type);
  // `{ type: "file", file: { file_id } }` in Chat, `{ type: "input_file", file_id }` in Responses.
  const named = objectOf(part[type]);
  if (isId(part["file_id"]) || isId(named?.["file_id"])) {
    found.add(ROWS.fileId, `${path}.file_id`, "file_id");
  }
  const source = objectOf(part["source"]);
  if (source) findInSource(source, type, path, found, level);
  const address = addressIn(part, named, type);
  if (address !== undefined) found.add(ROWS.remoteFile, `${path}.${address}`, address);
  findInContent(part["content"], `${path}.content`, found, level + 1);
}

/** The source of an image or document in Messages. */
function findInSource(
  source: JsonObject,
  type: string,
  path: string,
  found: Found,
  level: number,
): void {
  if (source["type"] === "file" || isId(source["file_id"])) {
    found.add(ROWS.fileId, `${path}.source`, "file_id");
  } else if (source["type"] === "url" && type !== "image") {
    found.add(ROWS.remoteFile, `${path}.source.url`, `${type}.url`);
  }
  findInContent(source["content"], `${path}.source.content`, found, level + 1);
}

/** Returns the field that gives a part by address. Images may be, unless they are documents. */
function addressIn(
  part: JsonObject,
  named: JsonObject | undefined,
  type: string,
): string | undefined {
  if (isAddress(part["file_url"]) || isAddress(named?.["file_url"])) return "file_url";
  if (type === "image_url" || type === "input_image") {
    const url = named?.["url"] ?? part["image_url"];
    return isAddress(url) && PDF.test(url) ? "image_url" : undefined;
  }
  if (!type.endsWith("_url") && type !== "file") return undefined;
  return isAddress(named?.["url"] ?? part[type]) ? type : undefined;
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !DATA_URL.test(value.slice(0, 5));
}

function isId(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

/** A cache mark that is to live for longer than the usual five minutes. */
export function findInMark(marked: JsonObject, found: Found): void {
  const mark = objectOf(marked["cache_control"]);
  const ttl = mark?.["ttl"];
  if (!mark || ttl === undefined || ttl === null || ttl === "5m") return;
  const leaveOut = () => {
    const { ttl: _, ...rest } = mark;
    marked["cache_control"] = rest;
  };
  found.add(ROWS.longCache, "cache_control.ttl", "cache_control.ttl", { leaveOut });
}

/** Finds what the turns of a Messages or Chat request carry. */
export function findInTurns(turns: unknown, found: Found): void {
  const list = arrayOf(turns);
  for (let at = 0; at < list.length; at++) {
    const turn = objectOf(list[at]);
    if (!turn) continue;
    if (turn["cache_control"] != null) findInMark(turn, found);
    if (turn["audio"] != null) found.add(ROWS.stored, `messages[${at}].audio`, "audio");
    // Most turns of a Chat request are plain text.
    if (typeof turn["content"] !== "string") {
      findInContent(turn["content"], `messages[${at}].content`, found);
    }
  }
}

/** Finds what the items of a Responses request carry. */
export function findInItems(input: unknown, found: Found): void {
  const items = arrayOf(input);
  for (let at = 0; at < items.length; at++) {
    const item = objectOf(items[at]);
    if (!item) continue;
    const path = `input[${at}]`;
    if (isReference(item)) found.add(ROWS.stored, path, "item_reference");
    else if (item["type"] === "image_generation_call" && typeof item["result"] !== "string") {
      found.add(ROWS.stored, path, "image_generation_call");
    }
    findInContent(item["content"], `${path}.content`, found);
    const { output } = item;
    if (Array.isArray(output)) findInContent(output, `${path}.output`, found);
    else if (isId(objectOf(output)?.["file_id"])) {
      found.add(ROWS.fileId, `${path}.output.file_id`, "file_id");
    }
  }
}

/** The type of a reference may be left out. */
function isReference(item: JsonObject): boolean {
  const { type } = item;
  if (type === "item_reference") return true;
  return (type === undefined || type === null) && isId(item["id"]) && item["role"] == null;
}
