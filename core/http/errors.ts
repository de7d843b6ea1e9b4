import { endpoints } from "../catalogue/endpoint.ts";
import type { HttpRequest, HttpResponse } from "../listener/index.ts";
import type { Match } from "../plugin/router.ts";
import { type Refusal, refuse } from "../wire/refusal.ts";
import type { ClientWire, Wire } from "../wire/wire.ts";
import { wires } from "../wire/wires.ts";
import { statusLine } from "./write.ts";

/** Returns the request headers by lower-case name. Joins repeated ones by commas, as HTTP allows. */
export function headersOf(req: HttpRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  req.forEach((name, value) => {
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  });
  return headers;
}

/** Returns the protocol for errors outside of an endpoint: chosen by path, then by headers. */
export function wireOf(path: string, headers: Readonly<Record<string, string>>): Wire {
  const isMessages = path.startsWith("/v1/messages") || headers["anthropic-version"] !== undefined;
  return isMessages ? wires.messages : wires.chat;
}

/**
 * Sends a refusal and cuts the connection, so that bytes after the request are not read as another request. With `end`
 * and its close flag, uWebSockets.js still serves those bytes. After a reply that has not ended, it cuts the
 * connection.
 */
export function refuseAndCut(
  res: HttpResponse,
  method: string,
  wire: ClientWire,
  refusal: Refusal,
  requestId: string,
): void {
  let gone = false;
  res.onAborted(() => {
    gone = true;
  });
  res.cork(() => {
    writeHead(res, refusal, requestId);
    res.writeHeader("connection", "close");
    if (method !== "HEAD") res.write(wire.errorBody(refusal, requestId));
  });
  // Wait until the cork around this request is over, or the reply is lost.
  setImmediate(() => {
    if (!gone) res.close();
  });
}

function writeHead(res: HttpResponse, refusal: Refusal, requestId: string): void {
  res.writeStatus(statusLine(refusal.status));
  res.writeHeader("x-request-id", requestId);
  res.writeHeader("request-id", requestId);
  res.writeHeader("content-type", "application/json");
  res.writeHeader("x-content-type-options", "nosniff");
  for (let at = 0; at < refusal.headers.length; at += 2) {
    res.writeHeader(refusal.headers[at] ?? "", refusal.headers[at + 1] ?? "");
  }
}

/**
 * Returns the 400, 404, 405 or 426 for a path, a method or a WebSocket, with the address that the client probably
 * meant.
 */
export function notServed(
  match: Exclude<Match, { kind: "route" }>,
  path: string,
  headers: Readonly<Record<string, string>>,
): Refusal {
  if (match.kind === "unclear") {
    return refuse.badRequest(
      "The path has a dot segment, a backslash or an encoded slash: write it without.",
    );
  }
  if (match.kind === "method" && asksForWebSocket(headers)) return NO_WEB_SOCKETS;
  // A client that posts to the bare address, or to an endpoint below a page, has a wrong base address, though a browser
  // may open that path.
  if (match.kind === "method" && path !== "/" && !(match.isRest && meantBy(path))) {
    const allowed = match.allowed.join(", ");
    return refuse.methodNotAllowed(`This path takes ${allowed}.`, {
      headers: ["allow", allowed],
    });
  }
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  const message = `There is no ${shown} here. ${hint(path)}`;
  // Claude Code shows none of the text of a 404, and advises another model.
  const hidesText = headers["user-agent"]?.startsWith("claude-cli/") && /\/messages\/*$/.test(path);
  return hidesText
    ? refuse.badRequest(message, { code: "not_found" })
    : refuse.notFound(message, { code: "not_found" });
}

/**
 * Codex and Copilot go on over HTTP at once, as they do not after other refusals. RFC 9110 demands both headers, the
 * names of what is served instead.
 */
const NO_WEB_SOCKETS = refuse.as(
  426,
  "invalid_request_error",
  "WebSockets are not served here: send the request with POST.",
  { code: "websocket_not_supported", headers: ["upgrade", "HTTP/1.1", "connection", "upgrade"] },
);

/** A proxy leaves the header `upgrade` out. */
function asksForWebSocket(headers: Readonly<Record<string, string>>): boolean {
  const isNamed = headers["upgrade"]?.toLowerCase().includes("websocket") ?? false;
  return isNamed || headers["sec-websocket-key"] !== undefined;
}

const KNOWN = [
  ...new Set([...endpoints.map(({ path }) => path), "/v1/messages/count_tokens", "/v1/models"]),
];
const ADDRESS =
  "Messages clients are configured with the base address alone, Chat Completions clients with the base " +
  "address and /v1.";

/** Returns the address that the client probably meant, or says that there is no such endpoint. */
function hint(path: string): string {
  const meant = meantBy(path);
  if (meant === undefined) return `The endpoints of this gateway are ${KNOWN.join(", ")}.`;
  const trouble = isDoubled(path)
    ? "/v1 is doubled: use"
    : path.includes("/v1/")
      ? "Use"
      : "/v1 is missing: use";
  return `${trouble} ${meant}. ${ADDRESS}`;
}

/** Returns the endpoint at which a path ends, with or without /v1. */
function meantBy(path: string): string | undefined {
  const asked = path.replace(/\/+$/, "");
  return KNOWN.find((known) => asked.endsWith(known.slice("/v1".length)));
}

function isDoubled(path: string): boolean {
  return path.includes("/v1/v1");
}
