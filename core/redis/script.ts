import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../process/root.ts";

/** A Lua script, and the SHA-1 by which a server knows it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

export function script(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

/** The text of a Lua file of the sources, by its path from the root of the package. */
export function readLua(file: string): string {
  return readFileSync(join(packageRoot, file), "utf8");
}
