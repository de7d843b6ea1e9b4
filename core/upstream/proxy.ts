import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { ProxyVariables } from "../plugin/config.ts";
import { addressMs } from "./known-addresses.ts";

/**
 * Returns the proxy for an origin, or undefined to connect directly. `own`: the setting of the upstream, which may be
 * `none`; without it the variables count, as for other programs: HTTPS_PROXY for https, except for the hosts of NO_PROXY.
 */
export function proxyFor(
  { protocol, hostname }: Pick<URL, "protocol" | "hostname">,
  own: string | undefined,
  { httpsProxy, noProxy }: ProxyVariables,
): URL | undefined {
  if (own !== undefined) return own === "none" ? undefined : new URL(own);
  if (protocol !== "https:" || !httpsProxy || !URL.canParse(httpsProxy)) return undefined;
  return isExempt(hostname, noProxy ?? "") ? undefined : new URL(httpsProxy);
}

function isExempt(host: string, noProxy: string): boolean {
  const entries = noProxy.toLowerCase().split(/[\s,]+/);
  return entries
    .map((entry) => entry.replace(/^\*?\.|:\d+$/g, ""))
    .some((entry) => entry === "*" || (entry !== "" && `.${host}`.endsWith(`.${entry}`)));
}

type Done = (error: Error | null, socket: Socket | null) => void;

/** Opens a tunnel through a proxy by CONNECT. Calls `done` once. */
export function openTunnel(
  proxy: URL,
  host: string,
  port: number,
  { timeoutMs, lookup }: { readonly timeoutMs: number; readonly lookup: LookupFunction },
  done: Done,
): void {
  const isTls = proxy.protocol === "https:";
  const name = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  const { hostname, username, password } = proxy;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const user = pair !== ":" && `Basic ${Buffer.from(pair).toString("base64")}`;
  const request = (isTls ? httpsRequest : httpRequest)({
    host: hostname,
    port: Number(proxy.port) || (isTls ? 443 : 80),
    ...(isTls && { servername: hostname }),
    method: "CONNECT",
    path: name,
    headers: { host: name, ...(user && { "proxy-authorization": user }) },
    lookup,
    agent: false,
    ...{ autoSelectFamilyAttemptTimeout: addressMs(timeoutMs) },
  });
  const timer = setTimeout(() => request.destroy(proxyFailed("did not reply in time")), timeoutMs);
  request.once("connect", ({ statusCode }, socket) => {
    clearTimeout(timer);
    if (statusCode === 200) return done(null, socket);
    socket.on("error", () => {}).destroy();
    done(proxyFailed(`replied ${statusCode}`), null);
  });
  request.on("error", (error) => {
    clearTimeout(timer);
    done(failureOf(error), null);
  });
  request.end();
}

function failureOf(error: NodeJS.ErrnoException): Error {
  if (error.code === "ECONNRESET") return proxyFailed("closed the connection");
  return error.code?.startsWith("HPE_") ? proxyFailed("sent no HTTP") : error;
}

/** Returns the error of a proxy that has not opened the tunnel. Its code names why, for operators. */
function proxyFailed(what: string): Error {
  return Object.assign(new Error("the proxy failed"), { code: `the proxy ${what}` });
}
