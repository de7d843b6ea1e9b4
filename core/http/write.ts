import type { HttpResponse } from "uWebSockets.js";
import { STATUS_CODES } from "node:http";

/**
 * Bytes written under one cork. uWebSockets.js gathers 16 KB there; a further write that no longer fits is
 * lost when the flush before it meets a full socket, so no cork gets more than surely fits.
 */
export const CORKED_BYTES_MAX = 14_000;

/** Ends a reply whose head was just written, under one cork, with its length; a large body goes as it is read. */
export function endWhole(res: HttpResponse, body: Uint8Array): void {
  if (body.length <= CORKED_BYTES_MAX) {
    res.end(body);
    return;
  }
  const [, done] = res.tryEnd(body, body.length);
  if (done) return;
  res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[0]);
}

/**
 * Ends the reply to HEAD. uWebSockets.js 20.0.8 takes a reply whose length it is told by argument for one that has not
 * ended, and cuts the connection at its next request.
 */
export function endHead(res: HttpResponse, bodyBytes: number): void {
  res.writeHeader("content-length", String(bodyBytes));
  res.endWithoutBody();
}

/** Writes one part of a reply in slices, each under a cork of its own; false where the client must catch up. */
export function writeSliced(res: HttpResponse, bytes: Uint8Array): boolean {
  let drained = true;
  for (let at = 0; at < bytes.length; at += CORKED_BYTES_MAX) {
    const slice = bytes.subarray(at, at + CORKED_BYTES_MAX);
    res.cork(() => {
      if (!res.write(slice)) drained = false;
    });
  }
  return drained;
}

const statusLines = new Map<number, string>();

export function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `${status} ${STATUS_CODES[status] ?? "Unknown"}`;
    statusLines.set(status, line);
  }
  return line;
}
