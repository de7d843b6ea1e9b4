import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { LiveCall } from "./live-call.ts";

/** The head of a request, kept because uWebSockets.js forgets it before the body has come. */
export interface Head {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Above the gateway's own 20 MB, so that what passes the gateway passes here. */
const bodyBytesMax = 64 << 20;

export function readHead(req: HttpRequest): Head {
  const headers: Record<string, string> = {};
  req.forEach((name, value) => {
    headers[name] = value;
  });
  // Undefined where the address has no question mark.
  const query: string | undefined = req.getQuery();
  const path = query ? `${req.getUrl()}?${query}` : req.getUrl();
  return { method: req.getMethod().toUpperCase(), path, headers };
}

/**
 * Hands over the body when it is whole. Most bodies come in one piece, which is lent until `then`
 * returns and needs no copy; one that is too large costs its sender the connection.
 */
export function readBody(res: HttpResponse, call: LiveCall, then: (body: Buffer) => void): void {
  const earlier: Buffer[] = [];
  let length = 0;
  res.onData((chunk, isLast) => {
    if (call.over) return;
    const lent = Buffer.from(chunk);
    length += lent.length;
    if (length > bodyBytesMax) call.destroy();
    else if (!isLast) earlier.push(Buffer.from(lent));
    else then(earlier.length === 0 ? lent : Buffer.concat([...earlier, lent]));
  });
}
