import { isObject, type JsonObject } from "../../../../core/plugin/index.ts";
import { toChatToolId } from "../../ids.ts";
import type { ChatPart, ChatText, ChatToolResult } from "../../types.ts";
import { mark, type Scope } from "./scope.ts";

/** Translates the blocks of a user turn, without its tool results. */
export function userParts(content: readonly unknown[], path: string, scope: Scope): ChatPart[] {
  const parts: ChatPart[] = [];
  for (const [at, item] of content.entries()) {
    const where = `${path}[${at}]`;
    const block = scope.notes.element(item, where);
    if (!block || block["type"] === "tool_result") continue;
    for (const part of partsOf(block, where, scope)) parts.push(part);
  }
  return parts;
}

/**
 * Returns the content of a user message: a string for a single text without a cache mark, otherwise
 * parts.
 */
export function asContent(parts: ChatPart[], blocks: readonly unknown[]): string | ChatPart[] {
  const said = blocks
    .filter(isObject)
    .filter(({ type, text }) => type !== "tool_result" && (type !== "text" || text !== ""));
  const [only] = parts;
  const lone = parts.length === 1 && said.length === 1 && said[0]?.["type"] === "text";
  return lone && only?.type === "text" && only.cache_control === undefined ? only.text : parts;
}

/** The result of a tool: its message, and the media that a tool message cannot hold. */
interface ToolAnswer {
  readonly message: ChatToolResult;
  readonly attachments: readonly ChatPart[];
}

export function toolAnswer(block: JsonObject, path: string, scope: Scope): ToolAnswer {
  const id = toChatToolId(
    scope.notes.requiredString(block, "tool_use_id", `${path}.tool_use_id`),
    scope.profile.tool_id_max,
  );
  const parts = resultParts(block["content"], `${path}.content`, scope);
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const media = parts.filter((part) => part.type !== "text");
  const placeholder = media.length > 0 ? "[see attachment below]" : "";
  const text = texts.length > 0 ? texts.join("\n") : placeholder;
  const failed = scope.notes.boolean(block, "is_error", `${path}.is_error`) === true;
  const message: ChatToolResult = {
    role: "tool",
    tool_call_id: id,
    content: failed ? asFailure(text) : text,
  };
  const lead: ChatPart = { type: "text", text: `Attachment from tool call ${id}:` };
  return {
    message: mark(message, block, path, scope),
    attachments: media.length > 0 ? [lead, ...media] : [],
  };
}

function partsOf(block: JsonObject, path: string, scope: Scope): ChatPart[] {
  switch (block["type"]) {
    case "text": {
      const part = textPart(block, path, scope);
      return part.text === "" ? [] : [mark(part, block, path, scope)];
    }
    case "image":
      return imageParts(block, path, scope).map((part) => mark(part, block, path, scope));
    case "document":
      return documentParts(block, path, scope).map((part) => mark(part, block, path, scope));
    case "search_result":
      return lines([
        scope.notes.string(block, "title", `${path}.title`),
        scope.notes.string(block, "source", `${path}.source`),
        ...innerTexts(block, path, scope),
      ]).map((part) => mark(part, block, path, scope));
    case "compaction":
      return lines([summaryOf(block)]);
    default:
      scope.notes.unsupported(`${path}.type`, `${nameOf(block["type"])} cannot be translated`);
      return [];
  }
}

/** Returns the text that stands for earlier turns. */
export function summaryOf({ content }: JsonObject): string {
  return typeof content === "string" ? content : "";
}

/** Translates the content of a tool result, with its media. */
export function resultParts(content: unknown, path: string, scope: Scope): ChatPart[] {
  return scope.notes.parts<ChatPart>(content ?? [], path, textParts, (block, where) => {
    if (block["type"] !== "tool_reference") return partsOf(block, where, scope);
    if (block["cache_control"] != null) scope.notes.drop("cache_control");
    const name = scope.notes.requiredString(block, "tool_name", `${where}.tool_name`);
    return lines([`tool: ${name}`]);
  });
}

function imageParts(block: JsonObject, path: string, scope: Scope): ChatPart[] {
  const where = `${path}.source`;
  const source = scope.notes.element(block["source"], where);
  if (!source) return [];
  switch (source["type"]) {
    case "base64": {
      const mediaType = scope.notes.requiredString(source, "media_type", `${where}.media_type`);
      const data = scope.notes.requiredString(source, "data", `${where}.data`);
      return [imagePart(`data:${mediaType};base64,${data}`, block)];
    }
    case "url": {
      const url = scope.notes.requiredString(source, "url", `${where}.url`);
      return [imagePart(url, block)];
    }
    default:
      return refuseSource(source, where, scope);
  }
}

function imagePart(url: string, { detail }: JsonObject): ChatPart {
  const known = DETAILS.find((one) => one === detail);
  return { type: "image_url", image_url: { url, ...(known && { detail: known }) } };
}

const DETAILS = ["low", "high"] as const;

function documentParts(block: JsonObject, path: string, scope: Scope): ChatPart[] {
  const where = `${path}.source`;
  const source = scope.notes.element(block["source"], where);
  const title = scope.notes.string(block, "title", `${path}.title`);
  const context = scope.notes.string(block, "context", `${path}.context`);
  if (isObject(block["citations"])) scope.notes.drop("citations");
  if (!source) return [];
  switch (source["type"]) {
    case "base64": {
      if (source["media_type"] !== "application/pdf") return refuseSource(source, where, scope);
      const data = scope.notes.requiredString(source, "data", `${where}.data`);
      const fileData = `data:application/pdf;base64,${data}`;
      const file = { filename: title || "document.pdf", file_data: fileData };
      return [...lines([context]), { type: "file", file }];
    }
    case "text":
      return lines([title, context, scope.notes.string(source, "data", `${where}.data`)]);
    case "content":
      return flattened(source["content"], `${where}.content`, scope);
    default:
      return refuseSource(source, where, scope);
  }
}

function flattened(content: unknown, path: string, scope: Scope): ChatPart[] {
  return scope.notes.parts<ChatPart>(content, path, textParts, (block, where) => {
    if (block["type"] === "text" || block["type"] === "image") return partsOf(block, where, scope);
    // Documents cannot contain documents, which also bounds the recursion.
    scope.notes.invalid(`${where}.type`, 'must be "text" or "image"');
    return [];
  });
}

function innerTexts(block: JsonObject, path: string, scope: Scope): string[] {
  const where = `${path}.content`;
  const content = scope.notes.array(block, "content", where) ?? [];
  return content.flatMap((item, at) => {
    const inner = scope.notes.element(item, `${where}[${at}]`);
    return inner ? [textPart(inner, `${where}[${at}]`, scope).text] : [];
  });
}

/** Returns the text of a block as a part. */
export function textPart(block: JsonObject, path: string, scope: Scope): ChatText {
  return { type: "text", text: scope.notes.string(block, "text", `${path}.text`) ?? "" };
}

function lines(texts: readonly (string | undefined)[]): ChatText[] {
  return textParts(texts.filter((line) => line !== undefined && line !== "").join("\n"));
}

function textParts(text: string): ChatText[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/** Returns the text of a result that is an error. */
export function asFailure(text: string): string {
  if (text === "") return "Error: tool failed";
  return /^error/i.test(text) ? text : `Error: ${text}`;
}

function refuseSource(source: JsonObject, path: string, scope: Scope): ChatPart[] {
  const kind = nameOf(source["type"]);
  scope.notes.unsupported(path, `a source of type ${kind} cannot be translated here`);
  return [];
}

/** Returns the client's type, cut for an error message. */
function nameOf(type: unknown): string {
  return typeof type === "string" ? `"${type.slice(0, 64)}"` : "this type";
}
