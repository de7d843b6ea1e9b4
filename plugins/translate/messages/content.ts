import { files, type JsonObject } from "../../../core/plugin/index.ts";
import { isBlank } from "../arguments.ts";
import { documentTypeOf, imageTypeOf, isPdfAddress, isWebAddress, parseDataUrl } from "../media.ts";
import type { MessagesContent, MessagesText } from "../types.ts";
import { isGiven, mark, type Scope } from "./scope.ts";

/**
 * Converts the content of a user or tool message to blocks. Leaves out texts that are empty or
 * white space.
 */
export function userBlocks(content: unknown, path: string, scope: Scope): MessagesContent[] {
  const ofPart = (part: JsonObject, where: string) => partBlocks(part, where, scope);
  return scope.notes.parts<MessagesContent>(content ?? [], path, textBlocks, ofPart);
}

/** Converts the texts of a system or assistant message to blocks. A refusal is text too. */
export function textOnlyBlocks(
  content: unknown,
  types: readonly string[],
  path: string,
  scope: Scope,
): MessagesText[] {
  return scope.notes.parts(content ?? [], path, textBlocks, (part, where) => {
    const type = types.find((known) => known === part["type"]);
    if (type === undefined) {
      scope.notes.unsupported(`${where}.type`, "must be a text part");
      return [];
    }
    const text = scope.notes.string(part, type, `${where}.${type}`) ?? "";
    return textBlocks(text).map((block) => mark(block, part, where, scope));
  });
}

/**
 * Converts a text to a block. Returns none for a text of white space, which the upstream refuses.
 */
export function textBlocks(text: string): MessagesText[] {
  return isBlank(text) ? [] : [{ type: "text", text }];
}

function partBlocks(part: JsonObject, path: string, scope: Scope): MessagesContent[] {
  switch (part["type"]) {
    case "text": {
      const text = scope.notes.string(part, "text", `${path}.text`) ?? "";
      return textBlocks(text).map((block) => mark(block, part, path, scope));
    }
    case "image_url": {
      const given = part["image_url"];
      const isBare = typeof given === "string";
      const image = isBare ? { url: given } : scope.notes.element(given, `${path}.image_url`);
      const where = `${path}.image_url.url`;
      const url = image && scope.notes.requiredString(image, "url", where);
      if (!url) return [];
      const detail = detailOf(image, scope);
      return imageBlocks(url, where, scope).map((block) => ({
        ...mark(block, part, path, scope),
        ...(block.type === "image" && detail),
      }));
    }
    case "file": {
      const file = scope.notes.element(part["file"], `${path}.file`);
      if (!file) return [];
      if (isGiven(file["detail"])) scope.notes.drop("detail");
      return fileBlocks(file, `${path}.file`, scope).map((block) => mark(block, part, path, scope));
    }
    default:
      scope.notes.unsupported(`${path}.type`, "this kind of part cannot be translated");
      return [];
  }
}

/** Returns the detail of an image if the upstream has the field. Claude chooses itself. */
function detailOf({ detail }: JsonObject, { notes, isLast }: Scope): { detail?: string } {
  if (typeof detail !== "string" || detail === "auto") return {};
  if (!isLast) return { detail };
  notes.drop("detail");
  return {};
}

function imageBlocks(url: string, path: string, scope: Scope): MessagesContent[] {
  if (isWebAddress(url)) {
    const source = { type: "url", url } as const;
    return [isPdfAddress(url) ? { type: "document", source } : { type: "image", source }];
  }
  const found = parseDataUrl(url);
  if (!found) {
    scope.notes.unsupported(path, "must be a data URL or an http(s) URL");
    return [];
  }
  const { mediaType, data } = found;
  const media_type = imageTypeOf(data, mediaType);
  if (media_type === undefined) return documentBlocks(mediaType, data, path, scope);
  return [{ type: "image", source: { type: "base64", media_type, data } }];
}

function fileBlocks(file: JsonObject, path: string, scope: Scope): MessagesContent[] {
  const given = scope.notes.string(file, "file_data", `${path}.file_data`);
  if (given === undefined) {
    scope.notes.unsupported(path, "only files with file_data can be translated");
    return [];
  }
  const title = scope.notes.string(file, "filename", `${path}.filename`);
  const found = parseDataUrl(given) ?? { mediaType: "unknown", data: given };
  const blocks: MessagesContent[] = isWebAddress(given)
    ? [{ type: "document", source: { type: "url", url: given } }]
    : documentBlocks(found.mediaType, found.data, `${path}.file_data`, scope);
  return blocks.map((block) => (title && block.type === "document" ? { ...block, title } : block));
}

function documentBlocks(
  stated: string,
  data: string,
  path: string,
  scope: Scope,
): MessagesContent[] {
  const mediaType = documentTypeOf(data, stated);
  if (mediaType === "application/pdf") {
    return [{ type: "document", source: { type: "base64", media_type: mediaType, data } }];
  }
  if (mediaType.startsWith("text/")) {
    const text = files.textOfBase64(data);
    return [{ type: "document", source: { type: "text", media_type: "text/plain", data: text } }];
  }
  scope.notes.unsupported(path, `the media type ${mediaType.slice(0, 64)} cannot be translated`);
  return [];
}
