import { STATUS_CODES } from "node:http";
import type { HttpResponse } from "../listener/index.ts";

/**
 * Maximum bytes written under one cork. uWebSockets.js buffers 16 KB there. A write that no longer
 * fits is lost if the flush before it meets a full socket.
 */
export const CORKED_BYTES_MAX = 14_000;

/**
 * Sends the body and ends the reply, after its head was written under the same cork. A large body
 * is sent as the client reads it: returns false then, and calls `onPart` after each later part.
 */
export function endWhole(
  res: HttpResponse,
  body: Uint8Array,
  onPart?: (isDone: boolean) => void,
): boolean {
  if (body.length <= CORKED_BYTES_MAX) {
    res.end(body);
    return true;
  }
  if (res.tryEnd(body, body.length)[1]) return true;
  res.onWritable((offset) => {
    const [fits, isDone] = res.tryEnd(body.subarray(offset), body.length);
    onPart?.(isDone);
    return fits;
  });
  return false;
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
 * Writes the slice of `bytes` that begins at `at`, of at most `CORKED_BYTES_MAX`, under a cork of its own. Returns false
 * if the client must catch up. Write the next one only when the response is writable. One that is written earlier stays
 * in the memory of uWebSockets.js, which reports a response as writable whatever it has buffered: a slow reader of a
 * fast stream took 2 to 4 MB there.
 */
export function writeSlice(res: HttpResponse, bytes: Uint8Array, at: number): boolean {
  const slice = bytes.subarray(at, at + CORKED_BYTES_MAX);
  let drained = true;
  res.cork(() => {
    drained = res.write(slice);
  });
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
