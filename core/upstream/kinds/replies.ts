import type { Decoder, RefusalKind } from "./kind.ts";

/** What the status of an HTTP API means, for any status but 2xx. */
export function refusalByStatus(status: number): RefusalKind {
  // No provider's API redirects: another server answers at its address. No client is sent where it points to.
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

/** How to read the reply of an HTTP API. A body without a content type passes as JSON. */
export function decoderByType(status: number, contentType: string | undefined): Decoder {
  if (status === 200 && contentType?.startsWith("text/event-stream")) return "events";
  return contentType === undefined || contentType.includes("json") ? "json" : "bytes";
}
