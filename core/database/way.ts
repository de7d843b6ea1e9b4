import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls } from "node:tls";
import type { Place, PostgresAddress } from "./address.ts";

/** The message that asks a server of Postgres for TLS; it replies with one letter. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const HAS_TLS = "S".charCodeAt(0);

/**
 * Opens a socket to a server, with TLS. The sockets of the `postgres` package do not check an IP address against a
 * certificate (3.4.9).
 */
export async function openSocket(
  place: Place,
  tls: PostgresAddress["tls"],
  timeoutMs: number,
): Promise<Socket> {
  const { host, port, path } = place;
  // A socket that ends its side by itself closes before it is known why.
  const allowHalfOpen = true;
  const socket =
    path === undefined ? connect({ host, port, allowHalfOpen }) : connect({ path, allowHalfOpen });
  const signal = AbortSignal.timeout(timeoutMs);
  // Without a listener, an error that follows another one would end the process.
  socket.on("error", () => {});
  const onEnd = () => socket.destroy(closed());
  socket.on("end", onEnd);
  try {
    await once(socket, "connect", { signal });
    // As libpq, no TLS to a unix socket.
    const isPlain = tls === undefined || path !== undefined;
    const made = isPlain ? socket : await encrypted(socket, host, tls, signal);
    socket.off("end", onEnd);
    // The package listens later, and an error without a listener would end the process.
    made.on("error", () => {});
    // After the package has written what it was about to write: it forgets to write it otherwise, and all that follows.
    made.once("end", () => setImmediate(() => made.destroy(closed())));
    // The package names the place in its messages.
    return Object.assign(made, place);
  } catch (error) {
    socket.destroy();
    if (!signal.aborted) throw error;
    throw lateAt(place, timeoutMs);
  }
}

export function nameOf({ host, port, path }: Place): string {
  return path ?? `${host}:${port}`;
}

export function lateAt(place: Place, timeoutMs: number): Error {
  const late = new Error(`no connection to Postgres at ${nameOf(place)} within ${timeoutMs} ms`);
  return Object.assign(late, { code: "CONNECT_TIMEOUT" });
}

function closed(): Error {
  const error = new Error("Postgres, or a proxy before it, closed the connection");
  return Object.assign(error, { code: "CONNECTION_CLOSED" });
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
