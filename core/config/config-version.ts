import { createHash } from "node:crypto";
import { isObject } from "../process/json.ts";
import type { Path } from "./problem.ts";
import type { Source } from "./source.ts";

/** Settings that may differ between servers that share a ledger. */
const OF_ONE_SERVER = new Set(["listen", "admin.listen", "stores.data", "log"]);
const VERSION_LENGTH = 8;
const QUOTES = /^["']|["']$/g;

/**
 * Returns a short hash of a config and the files that its plugins name, such as costs, as they are written, so without the
 * values of variables, and of the upstreams that have a key.
 */
export function configVersion(sources: readonly Source[], upstreams: readonly string[]): string {
  const files = sources.map((source) => asWritten(source, source.value, []));
  const written = [...files, [...upstreams].sort()];
  const hash = createHash("sha256").update(JSON.stringify(written));
  return hash.digest("hex").slice(0, VERSION_LENGTH);
}

function asWritten(source: Source, value: unknown, path: Path): unknown {
  if (OF_ONE_SERVER.has(path.join("."))) return null;
  if (Array.isArray(value)) return value.map((one, at) => asWritten(source, one, [...path, at]));
  if (typeof value === "string") {
    const written = source.writtenAt(path);
    return written.includes("${") ? written.replace(QUOTES, "") : value;
  }
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return names.map((name) => [name, asWritten(source, value[name], [...path, name])]);
}
