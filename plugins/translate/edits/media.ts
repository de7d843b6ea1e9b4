import {
  arrayOf,
  documentUrlOf,
  files,
  isImage,
  isObject,
  type JsonObject,
  objectOf,
} from "../../../core/plugin/index.ts";
import { documentTypeOf, isWebAddress, parseDataUrl } from "../media.ts";
import type { Draft } from "./draft.ts";

/**
 * The fields of an entry that have lists of parts. Responses has the results of tools in `output`.
 */
const LISTS = ["content", "output"] as const;

/**
 * Replaces images by a line of text, also in tool results, for a model that cannot read images, so
 * that a conversation with an earlier image continues. An image that the user shows in the last
 * turn was refused before. Returns the given body if it has none.
 */
export function withoutImages(
  body: JsonObject,
  field: "messages" | "input",
  id: string,
): JsonObject {
  const turns = arrayOf(body[field]);
  let changed = false;
  const edited = turns.map((turn) => {
    if (!isObject(turn)) return turn;
    let made = turn;
    for (const name of LISTS) {
      const parts = turn[name];
      if (!Array.isArray(parts)) continue;
      const edited = withLines(parts, `[image omitted: ${id} cannot read images]`);
      if (edited !== parts) made = { ...made, [name]: edited };
    }
    if (made !== turn) changed = true;
    return made;
  });
  return changed ? { ...body, [field]: edited } : body;
}

function withLines(content: readonly unknown[], line: string): readonly unknown[] {
  let changed = false;
  const edited = content.map((entry) => {
    const part = objectOf(entry);
    if (isImage(part)) {
      changed = true;
      return { type: part?.["type"] === "input_image" ? "input_text" : "text", text: line };
    }
    const inner = part?.["type"] === "tool_result" ? part["content"] : undefined;
    if (!part || !Array.isArray(inner)) return entry;
    const kept = withLines(inner, line);
    if (kept === inner) return entry;
    changed = true;
    return { ...part, content: kept };
  });
  return changed ? edited : content;
}

/**
 * Converts texts and PDFs that a client sends as images to documents: no provider reads them as
 * images. The bare address of an image in Chat becomes the object that providers take.
 */
export function editImages(draft: Draft, field: "messages" | "input"): void {
  // Only a conversation without files stays unread.
  if (draft.unread) return;
  draft.editEntries(field, (turn) => {
    let made = turn;
    for (const name of LISTS) {
      const parts = turn[name];
      if (!Array.isArray(parts)) continue;
      const edited = parts.map((part: unknown) => documentOf(part, field) ?? withObject(part));
      if (edited.some((part, at) => part !== parts[at])) made = { ...made, [name]: edited };
    }
    return made;
  });
}

const FILE_OMITTED = "[document omitted: this model cannot read documents]";

/**
 * For a model that reads no files: a file of text becomes its text, any other a line, so that a conversation with an earlier file
 * continues. One that the user sends in the last turn is refused. Files behind the results of tools are the agent's:
 * Alishahryar1/free-claude-code#357.
 */
export function omitFiles(draft: Draft): void {
  if (draft.profile.documents !== "omit" || draft.unread) return;
  const spoken = draft.entries("messages").map(objectOf).filter(isSpoken);
  const [before, last] = [spoken.at(-2), spoken.at(-1)];
  const sent = last?.["role"] === "user" && before?.["role"] !== "tool" ? last : undefined;
  draft.editEntries("messages", (message) => {
    const parts = message["content"];
    if (!Array.isArray(parts) || !parts.some(isFile)) return message;
    const content = parts.map((part: unknown) => {
      if (!isFile(part)) return part;
      const text = textOfFile(part);
      if (text === undefined && message === sent) draft.refuse("messages", UNREADABLE);
      return { type: "text", text: text ?? FILE_OMITTED };
    });
    return { ...message, content };
  });
}

const UNREADABLE = "this model cannot read documents: send their text, or choose another model";

function isSpoken(message: JsonObject | undefined): boolean {
  return message?.["role"] !== "system" && message?.["role"] !== "developer";
}

function isFile(part: unknown): boolean {
  return objectOf(part)?.["type"] === "file";
}

function textOfFile(part: unknown): string | undefined {
  const data = objectOf(objectOf(part)?.["file"])?.["file_data"];
  if (typeof data !== "string" || isWebAddress(data)) return undefined;
  const { mediaType, data: base64 } = parseDataUrl(data) ?? { mediaType: "unknown", data };
  return documentTypeOf(base64, mediaType).startsWith("text/")
    ? files.textOfBase64(base64)
    : undefined;
}

function documentOf(part: unknown, field: "messages" | "input"): JsonObject | undefined {
  const url = documentUrlOf(objectOf(part));
  const found = url === undefined ? undefined : parseDataUrl(url);
  if (!found) return undefined;
  const isChat = field === "messages";
  if (found.mediaType !== "application/pdf") {
    return { type: isChat ? "text" : "input_text", text: files.textOfBase64(found.data) };
  }
  const file = { filename: "document.pdf", file_data: `data:application/pdf;base64,${found.data}` };
  return isChat ? { type: "file", file } : { type: "input_file", ...file };
}

function withObject(part: unknown): unknown {
  const image = objectOf(part);
  const url = image?.["type"] === "image_url" ? image["image_url"] : undefined;
  return typeof url === "string" ? { ...image, image_url: { url } } : part;
}
