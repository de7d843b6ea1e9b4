import type { Decoder, RefusalKind } from "../plugin/upstream-kind.ts";

/** Returns what the status of an HTTP API means, for any status but 2xx. */
export function refusalByStatus(status: number): RefusalKind {
  // APIs of providers do not redirect, so another server replied at this address. The client must
  // not follow it.
  if (status >= 500 || status < 400) return "failed";
  switch (status) {
    case 401:
    case 402:
    case 403:
      return "account";
    case 408:
    case 429:
      return "elsewhere";
    default:
      return "caller";
  }
}

/** Returns how to read the reply of an HTTP API. A body without a content type is read as JSON. */
export function decoderByType(status: number, contentType: string | undefined): Decoder {
  const type = contentType?.toLowerCase();
  if (status === 200 && type?.startsWith("text/event-stream")) return "events";
  return type === undefined || type.includes("json") ? "json" : "bytes";
}
