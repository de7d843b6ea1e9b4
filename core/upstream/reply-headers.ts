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

/** Returns the headers that say when to try again: name, value, name, value. `ownMs`: what the body says. */
export function retryHeaders(headers: Headers, ownMs?: number): string[] {
  const passed = passedHeaders(undefined, headers);
  if (passed.length > 0 || ownMs === undefined) return passed;
  return ["retry-after", String(Math.ceil(ownMs / 1_000))];
}

/** Returns the time after which a provider wants to be tried again, in milliseconds, if it says so. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const ms = Number(single(headers["retry-after-ms"]) ?? "none");
  if (ms >= 0) return ms;
  const given = single(headers["retry-after"]);
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (seconds >= 0) return seconds * 1_000;
  const at = Date.parse(given);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** Returns the first value of a header. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
