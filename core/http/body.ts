import { getParts, type HttpResponse } from "uWebSockets.js";
import { isUtf8 } from "node:buffer";
import type { FormPart } from "../call.ts";
import { isObject, type JsonObject } from "../json.ts";
import { invalidRequest, Refusal } from "../refusal.ts";

/** Text fields of a form are short; whatever is longer is a file. */
const FIELD_BYTES_MAX = 1_048_576;

export function bodyTooLarge(bytesMax: number): Refusal {
  const megabytes = bytesMax / 1_048_576;
  return new Refusal(
    413,
    "request_too_large",
    `The request body is larger than the limit of ${megabytes} MB.`,
  );
}

/** The length that a request declares; undefined where it declares none. */
export function declaredLength(headers: Readonly<Record<string, string>>): number | undefined {
  const text = headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

/**
 * Reads a request body and gives it to `onWhole`, or tells `onTooLarge` in the moment it passes the limit.
 * Memory that uWebSockets.js lends is copied; bytes beyond the limit are not kept.
 */
export function readBody(
  res: HttpResponse,
  bytesMax: number,
  onWhole: (body: Buffer) => void,
  onTooLarge: (isLast: boolean) => void,
): void {
  let chunks: Buffer[] | undefined;
  let bytes = 0;
  res.onData((lent, isLast) => {
    bytes += lent.byteLength;
    if (bytes > bytesMax) {
      chunks = undefined;
      return onTooLarge(isLast);
    }
    const chunk = Buffer.from(Buffer.from(lent));
    if (isLast) {
      if (!chunks) return onWhole(chunk);
      chunks.push(chunk);
      return onWhole(Buffer.concat(chunks, bytes));
    }
    if (chunks) chunks.push(chunk);
    else chunks = [chunk];
  });
}

/** A body of JSON as an object, or the 400 that says what is wrong with it. */
export function parseJsonBody(bytes: Buffer): JsonObject | Refusal {
  if (!isUtf8(bytes)) return invalidRequest("The request body is not UTF-8.");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The parser's own message quotes the text, which has no place in an error or a log.
    return invalidRequest(
      bytes.length === 0
        ? "The request body is empty; JSON is required."
        : "The request body is not valid JSON.",
    );
  }
  if (!isObject(value)) return invalidRequest("The request body must be a JSON object.");
  return value;
}

/** A multipart body as its parts, and its text fields as if they had come in JSON. */
export function parseFormBody(
  bytes: Buffer,
  contentType: string,
): { form: FormPart[]; fields: JsonObject } | Refusal {
  const parts = getParts(bytes, contentType);
  if (!parts) return invalidRequest("The request body is not valid multipart/form-data.");
  const form: FormPart[] = [];
  const fields: JsonObject = {};
  for (const part of parts) {
    const data = Buffer.from(Buffer.from(part.data));
    const { name, filename, type } = part;
    form.push({ name, data, ...(filename !== undefined && { filename }), ...(type && { type }) });
    if (filename !== undefined || data.length > FIELD_BYTES_MAX) continue;
    const text = data.toString("utf8");
    fields[name] = /^\d{1,9}$/.test(text) ? Number(text) : text === "true" ? true : text;
  }
  return { form, fields };
}
