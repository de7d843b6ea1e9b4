import type { Decoder } from "../plugin/upstream-kind.ts";

/** Returns how to read the reply of an HTTP API. A body without a content type is read as JSON. */
export function decoderByType(status: number, contentType: string | undefined): Decoder {
  const type = contentType?.toLowerCase();
  if (status === 200 && type?.startsWith("text/event-stream")) return "events";
  return type === undefined || type.includes("json") ? "json" : "bytes";
}
