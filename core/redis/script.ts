import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../process/root.ts";

/** A Lua script, and the SHA-1 that a server caches it under. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

export function script(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

/** Reads a Lua file, by its path from the root of the package. */
export function readLua(file: string): string {
  return readFileSync(join(packageRoot, file), "utf8");
}
