import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { objectOf } from "./json.ts";

/** The package folder, with a trailing slash. Code runs from `dist/core/process/`; SQL is read from the sources. */
export const packageRoot: string = fileURLToPath(new URL("../../../", import.meta.url));

/** Reads the version of the package, such as `0.1.0`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
  return String(objectOf(manifest)?.["version"]);
}
