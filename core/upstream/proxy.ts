import { connect as connectTcp, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ProxyVariables } from "../plugin/config.ts";

/** A proxy's reply to CONNECT is a status line and a few headers. */
const HEAD_BYTES_MAX = 16_384;
const END = "\r\n\r\n";
const STATUS = /^HTTP\/1\.[01] (\d{3})/;

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
  return noProxy
    .split(/[\s,]+/)
    .map((entry) =>
      entry
        .replace(/:\d+$/, "")
        .replace(/^\*?\./, "")
        .toLowerCase(),
    )
    .some(
      (entry) => entry === "*" || (entry !== "" && (host === entry || host.endsWith(`.${entry}`))),
    );
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
  const at = { host: proxy.hostname, port: Number(proxy.port) || (isTls ? 443 : 80), lookup };
  const socket = isTls ? connectTls({ ...at, servername: proxy.hostname }) : connectTcp(at);
  let head = "";
  let isDone = false;
  const end = (error: Error | null) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    socket.removeListener("data", read);
    socket.removeListener("error", fail);
    socket.removeListener("close", closed);
    if (!error) return done(null, socket);
    socket.on("error", () => {});
    socket.destroy();
    done(error, null);
  };
  const fail = (error: Error) => end(error);
  const closed = () => end(new ProxyFailed("closed the connection"));
  const timer = setTimeout(() => end(new ProxyFailed("did not reply in time")), timeoutMs);
  const read = (chunk: Buffer) => {
    head += chunk.toString("latin1");
    if (!head.includes(END)) {
      if (head.length > HEAD_BYTES_MAX) end(new ProxyFailed("sent no HTTP"));
      return;
    }
    const status = STATUS.exec(head)?.[1] ?? "no status";
    end(status === "200" ? null : new ProxyFailed(`replied ${status}`));
  };
  socket.on("data", read).on("error", fail).on("close", closed);
  socket.once(isTls ? "secureConnect" : "connect", () => {
    const name = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
    const user = credentialsOf(proxy);
    socket.write(`CONNECT ${name} HTTP/1.1\r\nhost: ${name}\r\n${user}\r\n`);
  });
}

function credentialsOf({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `proxy-authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** The proxy has not opened the tunnel. Its code names why, for operators. */
class ProxyFailed extends Error {
  readonly code: string;

  constructor(what: string) {
    super("the proxy failed");
    this.code = `the proxy ${what}`;
  }
}
