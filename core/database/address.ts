import { readFileSync } from "node:fs";
import { messageOf } from "../process/thrown.ts";

const MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
/** How far TLS is checked, in the words of libpq. */
type TlsMode = Exclude<(typeof MODES)[number], "disable">;

const DEFAULT_PORT = "5432";
const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/;

/** Parameters of libpq without which the gateway's connections are no less safe, or which it sets itself. */
const IGNORED = new Set([
  ...["application_name", "fallback_application_name", "client_encoding", "connect_timeout"],
  ...["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"],
  ...["tcp_user_timeout", "channel_binding", "gssencmode", "sslnegotiation", "sslsni"],
]);
/** The gateway connects to a server that takes writes only. */
const WRITABLE = new Set(["any", "read-write", "primary"]);
const NO_CERTIFICATE = "client certificates are not supported: write a user and a password";
const REFUSED: ReadonlyMap<string, string> = new Map([
  ["sslcert", NO_CERTIFICATE],
  ["sslkey", NO_CERTIFICATE],
  ["ssl", "write sslmode instead"],
]);

/** A server, or its unix socket. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly path?: string;
}

/** The way to a Postgres, as its URL says. */
export interface PostgresAddress {
  /** One server, or several of which one takes writes. */
  readonly places: readonly Place[];
  /** Undefined: no TLS. `ca`: the certificates to trust; undefined for those of Node. */
  readonly tls: { readonly mode: TlsMode; readonly ca: Buffer | undefined } | undefined;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** Settings of the session, as arguments of the server: `-c search_path=x`. */
  readonly options?: string;
}

/**
 * Reads a URL as libpq does. TLS is by `sslmode`, and `sslrootcert` with the path of a file or `system`; without `sslmode`
 * there is none. Throws an Error that says what is wrong, without a value.
 */
export function readAddress(text: string): PostgresAddress {
  const [, login = "", hosts = "", database = "", query] = PARTS.exec(text) ?? refuse("its form");
  const [, user = "", password = ""] = /^([^:]*):?(.*)$/s.exec(login) ?? [];
  const parameters = new Map(new URLSearchParams(query));
  const take = (name: string) => {
    const value = parameters.get(name);
    parameters.delete(name);
    return value;
  };
  const places = placesOf(take("host") ?? decoded(hosts), take("port"));
  const tls = tlsOf(take("sslmode"), take("sslrootcert"));
  const options = take("options");
  if (!WRITABLE.has(take("target_session_attrs") ?? "any")) {
    throw new Error("target_session_attrs must be read-write, primary or any");
  }
  for (const name of parameters.keys()) {
    if (!IGNORED.has(name)) throw new Error(`${named(name)}: ${REFUSED.get(name) ?? UNKNOWN}`);
  }
  return {
    places,
    tls,
    ...(user && { user: decoded(user) }),
    ...(password && { password: decoded(password) }),
    ...(database && { database: decoded(database) }),
    ...(options && { options }),
  };
}

const UNKNOWN =
  "not supported in the URL; settings of Postgres are written options=-c%20NAME%3DVALUE";

/** A text that is no name can be a part of a password. */
function named(name: string): string {
  return /^[a-z_]+$/.test(name) ? name : "a parameter";
}

/** Reads `host`, `host:port`, several of them, or the folder of a unix socket. */
function placesOf(hosts: string, standardPort = DEFAULT_PORT): readonly Place[] {
  return (hosts || "localhost").split(",").map((text) => {
    if (text.startsWith("/")) {
      const [, folder = "", port = standardPort] = /^(.*?)(?::(\d+))?$/s.exec(text) ?? [];
      return { host: folder, port: Number(port), path: `${folder}/.s.PGSQL.${port}` };
    }
    const [, host = "", port = standardPort] = HOST.exec(text) ?? refuse("a host or a port");
    if (Number(port) > 65_535) refuse("a port");
    return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
  });
}

function tlsOf(given: string | undefined, root: string | undefined): PostgresAddress["tls"] {
  const word = given ?? (root === "system" ? "verify-full" : "disable");
  const mode = MODES.find((known) => known === word);
  if (mode === undefined) throw new Error(`sslmode must be one of ${MODES.join(", ")}`);
  if (mode === "disable") return undefined;
  const ca = root === undefined || root === "system" ? undefined : readRoot(root);
  // As libpq: who names a certificate wants it checked.
  return { mode: mode === "require" && ca ? "verify-ca" : mode, ca };
}

function readRoot(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`sslrootcert: ${messageOf(error)}`);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse("a % without two digits after it");
  }
}

function refuse(part: string): never {
  throw new Error(`${part} is not as in postgres://USER:PASSWORD@HOST:5432/DATABASE`);
}
