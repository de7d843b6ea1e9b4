import type { IncomingMessage } from "node:http";
import type { HttpRequest } from "./listener.ts";

/** The head of a request to `node:http`. */
export class NodeRequest implements HttpRequest {
  private readonly incoming: IncomingMessage;
  private readonly path: string;
  private readonly query: string | undefined;

  constructor(incoming: IncomingMessage) {
    this.incoming = incoming;
    const url = originForm(incoming.url ?? "/");
    const mark = url.indexOf("?");
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? undefined : url.slice(mark + 1);
  }

  getUrl(): string {
    return this.path;
  }

  getQuery(): string | undefined {
    return this.query;
  }

  getCaseSensitiveMethod(): string {
    return this.incoming.method ?? "";
  }

  forEach(each: (name: string, value: string) => void): void {
    const { rawHeaders } = this.incoming;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      each((rawHeaders[at] ?? "").toLowerCase(), rawHeaders[at + 1] ?? "");
    }
  }
}

/** A server of HTTP must also accept the whole address, as clients send it to a proxy. */
function originForm(url: string): string {
  if (url.startsWith("/")) return url;
  const path = url.replace(/^https?:\/\/[^/?]*/i, "");
  return path.startsWith("/") || path === url ? path : `/${path}`;
}
