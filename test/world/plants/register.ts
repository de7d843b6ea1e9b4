import { existsSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";
import { packageRoot } from "../../../core/process/root.ts";
import { PLANTS } from "./plants.ts";

/** Plants the bug of this name into every module loaded from now on. */
export function registerPlant(name: string): void {
  const plant = PLANTS[name];
  if (!plant) throw new Error(`no plant ${name}; there are: ${Object.keys(PLANTS).join("; ")}`);
  if (!existsSync(join(packageRoot, plant.file)))
    throw new Error(`there is no ${plant.file} any more`);
  register("./hooks.js", { parentURL: import.meta.url, data: plant });
}
