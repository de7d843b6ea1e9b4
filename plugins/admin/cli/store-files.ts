import { isLoopback } from "../../../core/plugin/index.ts";

/** A text of a shipped file, and what stands there on this machine. */
export type Change = readonly [shipped: string, here: string];

interface Store {
  readonly variable: string;
  /** Its file, which sets a server up for addresses of one form. */
  readonly to: string;
  readonly form: string;
  /** Returns undefined for an address of another form. */
  readonly changesFor: (url: URL, password: string) => readonly Change[] | undefined;
}

const REQUIREPASS = "# requirepass PASSWORD";
const BIND = "bind 127.0.0.1 -::1";

const STORES: readonly Store[] = [
  {
    variable: "REDIS_URL",
    to: "redis.conf",
    form: "redis://default:PASSWORD@127.0.0.1:6379",
    changesFor: ({ protocol, username, port }, password) => {
      if (protocol !== "redis:" || !["", "default"].includes(username)) return undefined;
      return [
        // A line without a password would end the start of Redis.
        [REQUIREPASS, password === "" ? REQUIREPASS : `requirepass ${word(password)}`],
        [BIND, `${BIND}\nport ${port || "6379"}`],
      ];
    },
  },
  {
    variable: "DATABASE_URL",
    to: "postgres.sql",
    form: "postgres://tollgate:PASSWORD@127.0.0.1:5432/tollgate",
    changesFor: ({ username, pathname }, password) =>
      username === "tollgate" && pathname === "/tollgate" && password !== ""
        ? [["'PASSWORD'", `'${password.replaceAll("'", "''")}'`]]
        : undefined,
  },
];

/**
 * Returns the files of the stores whose servers are on this machine. `changes`: undefined if the operator has set the
 * server up in a way of his own, which the file would not serve.
 */
export function storeFiles(values: ReadonlyMap<string, string>) {
  return STORES.flatMap(({ variable, to, form, changesFor }) => {
    const address = values.get(variable) ?? "";
    if (!URL.canParse(address)) return [];
    const url = new URL(address);
    if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ""))) return [];
    const password = decoded(url.password);
    const changes = password === undefined ? undefined : changesFor(url, password);
    return [{ variable, to, form, changes }];
  });
}

/** Returns what the gateway sends; undefined for what no file can have. */
function decoded(text: string): string | undefined {
  try {
    const sent = decodeURIComponent(text);
    return /\p{Cc}/u.test(sent) ? undefined : sent;
  } catch {
    return undefined;
  }
}

/** Returns a text as a word of `redis.conf`. */
function word(text: string): string {
  return /["'\\\s]/.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : text;
}
