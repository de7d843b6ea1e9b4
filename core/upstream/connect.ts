import type { LookupFunction, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { buildConnector } from "undici";
import connectorOf from "undici/lib/core/connect.js";
import { freeBodiesOf } from "./freed-bodies.ts";
import { holdEnd } from "./held-end.ts";
import { openTunnel } from "./proxy.ts";

const RESET = "ECONNRESET";

/** How to reach an upstream. */
interface Reach {
  readonly connectMs: number;
  readonly lookup: LookupFunction;
  /** Returns the proxy for an origin; undefined to connect directly. */
  proxyFor(origin: Pick<URL, "protocol" | "hostname">): URL | undefined;
}

/**
 * Opens connections to upstreams. If one is reset whose reply says `connection: close`, undici ends the reply there, and
 * throws if the reply is paused, outside of any call: one slow client would end the process. Hides the kind of the error
 * from undici until it fails the request with it.
 */
export function upstreamConnector({
  connectMs,
  lookup,
  proxyFor,
}: Reach): buildConnector.connector {
  const connect = connectorOf({ timeout: connectMs, lookup });
  return (options, callback) => {
    const { protocol, hostname } = options;
    const ready: buildConnector.Callback = (...result) => {
      const [error, socket] = result;
      if (error) nameCertificate(error, certificate());
      if (socket) prepare(socket);
      callback(...result);
    };
    let certificate = () => "";
    const direct = (httpSocket?: Socket) => {
      const given = httpSocket ? { ...options, httpSocket } : options;
      const socket: unknown = connect(given, ready);
      if (socket instanceof TLSSocket) certificate = certificateOf(socket);
    };
    const proxy = proxyFor({ protocol, hostname });
    if (!proxy) return direct();
    const port = Number(options.port) || (protocol === "https:" ? 443 : 80);
    openTunnel(proxy, hostname, port, { timeoutMs: connectMs, lookup }, (error, socket) => {
      if (!socket) return callback(error ?? new Error("no tunnel"), null);
      if (protocol === "https:") return direct(socket);
      prepare(socket.setNoDelay(true));
      callback(null, socket);
    });
  };
}

function prepare(socket: Socket): void {
  freeBodiesOf(socket);
  holdEnd(socket);
  // undici adds its own listeners in the callback, so this one runs first.
  socket.on("error", (error: NodeJS.ErrnoException) => hideReset(socket, error));
}

/** Returns a function that says which certificate the server has shown. Node forgets it when it refuses it. */
function certificateOf(socket: TLSSocket): () => string {
  let shown = "";
  socket.prependListener("secure", () => {
    const { subject, issuer, valid_to } = socket.getPeerCertificate();
    if (subject)
      shown = `certificate of ${subject.CN}, issued by ${issuer.CN}, valid until ${valid_to}`;
  });
  return () => shown;
}

/** A server may have any text in its certificate. */
function nameCertificate(error: Error, certificate: string): void {
  if (certificate === "") return;
  Object.assign(error, { certificate: certificate.replace(/[^\x20-\x7e]/g, "?").slice(0, 200) });
}

function hideReset(socket: Socket, error: NodeJS.ErrnoException): void {
  if (error.code !== RESET) return;
  error.code = "";
  socket.prependOnceListener("close", () => {
    error.code = RESET;
  });
}
