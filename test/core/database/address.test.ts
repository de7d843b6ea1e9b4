import t from "tap";
import { readAddress } from "../../../core/database/address.ts";

t.test("the URL of a ledger, as libpq reads it", async (t) => {
  const local = { host: "localhost", port: 5432 };
  const table: Readonly<Record<string, object>> = {
    "postgres://": { places: [local] },
    "postgresql:///b": { places: [local], database: "b" },
    "postgres://u@h": { places: [{ host: "h", port: 5432 }], user: "u" },
    "postgres://u:p%40%2F:x@h:1/b": {
      ...{ places: [{ host: "h", port: 1 }], database: "b" },
      ...{ user: "u", password: "p@/:x" },
    },
    "postgres://u:p@x@h/b": {
      ...{ places: [{ host: "h", port: 5432 }], database: "b" },
      ...{ user: "u", password: "p@x" },
    },
    "postgres://g:1,h,[::1]:2,[::2]/b": {
      places: [
        { host: "g", port: 1 },
        { host: "h", port: 5432 },
        { host: "::1", port: 2 },
        { host: "::2", port: 5432 },
      ],
      database: "b",
    },
    "postgres://%2Fvar%2Frun/b": {
      places: [{ host: "/var/run", port: 5432, path: "/var/run/.s.PGSQL.5432" }],
      database: "b",
    },
    "postgres://u@/b?host=/run/a:b&port=7": {
      places: [{ host: "/run/a:b", port: 7, path: "/run/a:b/.s.PGSQL.7" }],
      ...{ user: "u", database: "b" },
    },
    "postgres://h/b?target_session_attrs=read-write&options=endpoint%3Dx": {
      ...{ places: [{ host: "h", port: 5432 }], database: "b", options: "endpoint=x" },
    },
  };
  for (const [url, expected] of Object.entries(table))
    t.strictSame(readAddress(url), { tls: undefined, ...expected }, url);
});
