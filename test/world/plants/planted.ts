import { existsSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";
import { packageRoot } from "../../../core/process/root.ts";
import { PLANTS } from "./plants.ts";

type Simulation = typeof import("../simulate.ts");

let isRegistered = false;

/**
 * Loads the simulation with a bug in it. All modules of ours that lead to it are loaded again, so that a process can hold
 * the code with and without the bug, and with other bugs. Other modules and packages are shared.
 */
export async function plantedSimulation(name: string): Promise<Simulation> {
  const plant = PLANTS[name];
  if (!plant) throw new Error(`no plant ${name}; there are: ${Object.keys(PLANTS).join("; ")}`);
  if (!existsSync(join(packageRoot, plant.file)))
    throw new Error(`there is no ${plant.file} any more`);
  if (!isRegistered) register("./hooks.js", import.meta.url);
  isRegistered = true;
  const url = new URL(`../simulate.js?plant=${encodeURIComponent(name)}`, import.meta.url);
  return import(url.href);
}
