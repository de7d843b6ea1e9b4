import type { HttpRequest, HttpResponse } from "../../../core/listener/index.ts";
import type { LiveCall } from "./live-call.ts";

/** The head of a request. Copied, because uWebSockets.js frees it before the body arrives. */
export interface Head {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Maximum body: above the gateway's limit of 20 MB, so that the gateway's limit applies first. */
const bodyBytesMax = 64 << 20;

export function readHead(req: HttpRequest): Head {
  const headers: Record<string, string> = {};
  req.forEach((name, value) => {
    headers[name] = value;
  });
  const query = req.getQuery();
  const path = query ? `${req.getUrl()}?${query}` : req.getUrl();
  return { method: req.getCaseSensitiveMethod(), path, headers };
}

/**
 * Calls `then` with the whole body. A body of one chunk, the usual case, is not copied and is valid
 * only until `then` returns. A body above 64 MB closes the connection.
 */
export function readBody(res: HttpResponse, call: LiveCall, then: (body: Buffer) => void): void {
  const earlier: Buffer[] = [];
  let length = 0;
  res.onData((chunk, isLast) => {
    if (call.over) return;
    const view = Buffer.from(chunk);
    length += view.length;
    if (length > bodyBytesMax) call.destroy();
    else if (!isLast) earlier.push(Buffer.from(view));
    else then(earlier.length === 0 ? view : Buffer.concat([...earlier, view]));
  });
}
