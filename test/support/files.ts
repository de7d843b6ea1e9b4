import { readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { packageRoot } from "../../core/process/root.ts";

/** Paths of all files in a folder and in those below it, from the root of the package. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file).split(sep).join("/"))
    .filter((file) => statSync(join(packageRoot, file)).isFile());
}
