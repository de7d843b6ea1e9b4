import type { Headers } from "./attempt.ts";

/** Headers of an upstream's reply that the client gets, besides the content type. */
const PASSED_HEADERS = ["retry-after", "retry-after-ms"] as const;

/** Returns the headers of a reply that the client gets: name, value, name, value. */
export function passedHeaders(contentType: string | undefined, headers: Headers): string[] {
  const passed: string[] = [];
  if (contentType !== undefined) passed.push("content-type", contentType);
  for (const name of PASSED_HEADERS) {
    const value = single(headers[name]);
    if (value !== undefined) passed.push(name, value);
  }
  return passed;
}

/** Returns the first value of a header. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
