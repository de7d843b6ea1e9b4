import { STATUS_CODES } from "node:http";
import type { HttpResponse } from "../listener/index.ts";

/**
 * Maximum bytes written under one cork. uWebSockets.js buffers 16 KB there. A write that no longer
 * fits is lost if the flush before it meets a full socket.
 */
export const CORKED_BYTES_MAX = 14_000;

/**
 * Sends the body and ends the reply, after its head was written under the same cork. A large body
 * is sent as the client reads it.
 */
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
 * Ends the reply to HEAD. Sets the length as a header: given as an argument, uWebSockets.js 20.0.8
 * treats the reply as not ended and cuts the connection at its next request.
 */
export function endHead(res: HttpResponse, bodyBytes: number): void {
  res.writeHeader("content-length", String(bodyBytes));
  res.endWithoutBody();
}

/**
 * Writes one part of a reply in slices, each under its own cork. Returns false if the client must
 * catch up.
 */
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
