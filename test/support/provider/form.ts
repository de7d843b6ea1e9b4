import { createHash } from "node:crypto";
import { formParts } from "../../../core/plugin/index.ts";
import type { JsonObject } from "../../../core/process/json.ts";

/**
 * Converts a multipart body to JSON. A file becomes `{filename, type, bytes, sha256}`, so that an
 * echo identifies it without repeating it. A repeated name or `name[]` becomes a list.
 */
export function readForm(body: Uint8Array, contentType: string): JsonObject | undefined {
  const parts = formParts(body, contentType);
  if (parts === undefined) return undefined;
  const form: Record<string, unknown> = {};
  for (const { name, data, filename, type } of parts) {
    const bytes = Buffer.from(data);
    const value = filename === undefined ? bytes.toString() : { filename, type, ...digest(bytes) };
    const key = name.replace(/\[\]$/, "");
    const before = form[key];
    if (before === undefined) form[key] = key === name ? value : [value];
    else form[key] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return form;
}

function digest(bytes: Buffer): JsonObject {
  return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
