import { readFileSync } from "node:fs";

const MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
/** How far TLS is checked, in the words of libpq. */
type TlsMode = Exclude<(typeof MODES)[number], "disable">;

const DEFAULT_PORT = 5432;

export interface Place {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
}

/** The way to a Postgres, as its URL says. */
export interface PostgresAddress {
  /** One server or unix socket, or several that are tried by turns. */
  readonly places: readonly Place[];
  /** Undefined: no TLS. `ca`: the certificates to trust; undefined for those of Node. */
  readonly tls: { readonly mode: TlsMode; readonly ca: Buffer | undefined } | undefined;
  /** The URL without its settings of TLS, which the `postgres` package would read otherwise. */
  readonly url: string;
}

/**
 * Reads a URL as libpq does: `sslmode`, and `sslrootcert` with the path of a file or `system`. Without `sslmode` there is
 * no TLS. Throws an Error that says what is wrong.
 */
export function readAddress(text: string): PostgresAddress {
  const url = new URL(text);
  const take = (name: string) => {
    const value = url.searchParams.get(name) ?? undefined;
    url.searchParams.delete(name);
    return value;
  };
  const root = take("sslrootcert");
  const given = take("sslmode") ?? (root === "system" ? "verify-full" : "disable");
  const mode = MODES.find((known) => known === given);
  if (mode === undefined) {
    throw new Error(`sslmode must be one of ${MODES.join(", ")}, not ${given}`);
  }
  if (url.searchParams.has("ssl")) throw new Error("write sslmode instead of ssl");
  const port = Number(url.port || DEFAULT_PORT);
  const hosts = decodeURIComponent(url.hostname || "localhost").split(",");
  const places = hosts.map((host) => ({ host: host.replace(/^\[|\]$/g, ""), port }));
  if (mode === "disable") return { places, tls: undefined, url: url.href };
  const ca = root === undefined || root === "system" ? undefined : readRoot(root);
  // As libpq: who names a certificate wants it checked.
  const tls = { mode: mode === "require" && ca ? ("verify-ca" as const) : mode, ca };
  return { places, tls, url: url.href };
}

function readRoot(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`sslrootcert: ${error instanceof Error ? error.message : String(error)}`);
  }
}
