import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { checkServerIdentity, connect as connectTls } from "node:tls";
import { backoffMs } from "../process/backoff.ts";
import { codeOf } from "../process/thrown.ts";
import type { Place, PostgresAddress } from "./address.ts";

const RECONNECT_MS_MIN = 40;
const RECONNECT_MS_MAX = 1_000;
/** The message that asks a server of Postgres for TLS; it replies with one letter. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const HAS_TLS = "S".charCodeAt(0);

/** No connection to Postgres was made, so no statement was sent on it. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "NotConnected";
    this.code = codeOf(cause) ?? "CONNECTION_CLOSED";
  }
}

/** Options of the `postgres` package that say how it connects. */
export interface Way {
  /** Opens a connection. Never rejects: a failure is that of the stream. Missing in the types of the package. */
  readonly socket: () => Promise<Duplex>;
  /** For messages only. */
  readonly host: string;
  readonly ssl: false;
  readonly backoff: false;
  /** Maximum time, after TCP and TLS, until the server is ready for statements. In seconds. */
  readonly connect_timeout: number;
}

interface WayOptions {
  readonly address: PostgresAddress;
  /** Maximum time for TCP and TLS, and again until the server is ready. */
  readonly timeoutMs: number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Returns options with which the `postgres` package connects by our sockets. Its own ones, in 3.4.9, connect again
 * without a pause, forever, if a proxy accepts and closes them (its issues 1193 and 1214). Nor do they check an IP address
 * against a certificate.
 *
 * After a failure, all connections fail at once until a backoff is over: 40 ms, doubling up to a second.
 */
export function wayTo({ address, timeoutMs, nowMs }: WayOptions): Way {
  let failures = 0;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let lastFailure: unknown;
  let opened = 0;

  function failed(error: unknown): void {
    failures += 1;
    retryAtMs = nowMs() + backoffMs(failures, RECONNECT_MS_MIN, RECONNECT_MS_MAX);
    lastFailure = error;
  }

  async function socket(): Promise<Duplex> {
    if (nowMs() < retryAtMs) return failing(lastFailure);
    const place = address.places[opened++ % address.places.length] ?? {};
    try {
      const socket = await open(place, address.tls, timeoutMs);
      let isHeard = false;
      socket.once("data", () => {
        isHeard = true;
        failures = 0;
      });
      socket.once("error", (error) => isHeard || failed(error));
      // After the package has written what it was about to write: it forgets to write it otherwise, and all that follows.
      socket.once("end", () => setImmediate(() => socket.destroy(closedBy(isHeard))));
      // The package names the place in its messages.
      return Object.assign(socket, place);
    } catch (error) {
      failed(error);
      return failing(error);
    }
  }

  const host = address.places[0]?.host ?? "localhost";
  return { socket, host, ssl: false, backoff: false, connect_timeout: timeoutMs / 1_000 };
}

/** An error of a connection in use has no class: what became of its statement is unknown. */
function closedBy(isHeard: boolean): Error {
  return isHeard
    ? Object.assign(new Error("Postgres closed the connection"), { code: "CONNECTION_CLOSED" })
    : new NotConnected("Postgres, or a proxy before it, closed the connection without a reply");
}

/** A stream that fails when it is first written to. The package never uses a connection again whose socket is refused. */
function failing(cause: unknown): Duplex {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new Duplex({
    read() {},
    write: (_chunk, _encoding, done) => done(new NotConnected(message, cause)),
  });
}

async function open(place: Place, tls: PostgresAddress["tls"], timeoutMs: number): Promise<Socket> {
  const { host = "", port = 0, path } = place;
  // A socket that ends its side by itself closes before `wayTo` can say why.
  const allowHalfOpen = true;
  const socket =
    path === undefined ? connect({ host, port, allowHalfOpen }) : connect({ path, allowHalfOpen });
  const signal = AbortSignal.timeout(timeoutMs);
  // Without a listener, an error that follows another one would end the process.
  socket.on("error", () => {});
  const onEnd = () => socket.destroy(closedBy(false));
  socket.on("end", onEnd);
  try {
    await once(socket, "connect", { signal });
    const made = tls === undefined ? socket : await encrypted(socket, host, tls, signal);
    socket.off("end", onEnd);
    return made;
  } catch (error) {
    socket.destroy();
    if (!signal.aborted) throw error;
    const late = new Error(`no connection to Postgres at ${host}:${port} within ${timeoutMs} ms`);
    throw Object.assign(late, { code: "CONNECT_TIMEOUT" });
  }
}

/** Returns the socket itself if the server has no TLS and the mode allows that. */
async function encrypted(
  socket: Socket,
  host: string,
  { ca, mode }: NonNullable<PostgresAddress["tls"]>,
  signal: AbortSignal,
): Promise<Socket> {
  socket.write(SSL_REQUEST);
  const [reply]: Buffer[] = await once(socket, "data", { signal });
  if (reply?.[0] !== HAS_TLS) {
    if (mode === "prefer") return socket;
    throw new Error(`Postgres at ${host} offers no TLS, which sslmode=${mode} requires`);
  }
  // More bytes before the handshake came from someone in between.
  if (reply.length > 1) throw new Error("unexpected bytes before the TLS handshake");
  const secure = connectTls({
    socket,
    ...(ca !== undefined && { ca }),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: mode === "verify-full" || mode === "verify-ca",
    checkServerIdentity: (_name, certificate) =>
      mode === "verify-full" ? checkServerIdentity(host, certificate) : undefined,
  });
  await once(secure, "secureConnect", { signal });
  return secure;
}
