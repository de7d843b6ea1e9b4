import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../../core/process/root.ts";

/** Environment variable of a run's test files: the program of gateways, instead of the one that is shipped. */
export const BUNDLED_MAIN = "TOLLGATE_TEST_MAIN";

const built = join(packageRoot, "dist");
const bundle = join(packageRoot, ".tap", "bundle");
/** Finds plugins and their contract beside itself; all other modules find their files beside the ones that were built. */
const FINDS_BESIDE_ITSELF = join(built, "core", "config", "plugin-files.js");
/** Its own tests, and the gateways of other runs, hash passwords at the shipped cost: 30 ms each. */
const PASSWORDS = join(built, "plugins", "sign-in-parts", "passwords.js");
const SHIPPED_COST = /memoryCost: 19_456,\s+timeCost: 2,/;

/** The packages that a start loads, and that look for no files of their own. */
const LOADED_AT_START = new Set([
  ...["cookie", "eventsource-parser", "ipaddr.js", "lru-cache", "multipasta"],
  ...["postgres", "prom-client", "undici", "valibot"],
]);

/**
 * Writes the gateway and its plugins as a few files, and returns the program. Loading 700 modules one by one takes
 * half of the processor time of a start, and a whole run starts more than 200 gateways.
 */
export async function bundledMain(): Promise<string> {
  rmSync(bundle, { recursive: true, force: true });
  const plugins = readdirSync(join(built, "plugins"))
    .map((name) => join(built, "plugins", name, "index.js"))
    .filter((file) => existsSync(file));
  const { build } = await import("esbuild");
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  ) as { dependencies: Record<string, string>; optionalDependencies: Record<string, string> };
  await build({
    entryPoints: [
      ...["core/main.js", "core/plugin/index.js"].map((file) => join(built, file)),
      ...plugins,
    ],
    outdir: bundle,
    outbase: built,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    external: Object.keys({ ...dependencies, ...optionalDependencies }).filter(
      (name) => !LOADED_AT_START.has(name),
    ),
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
    plugins: [
      {
        name: "place of a module",
        setup({ onLoad, onResolve }) {
          // A module that is imported later has no names if it is CommonJS.
          onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, external: true }));
          onLoad({ filter: /\.js$/ }, ({ path }) => {
            // Packages stay as they are.
            if (!path.startsWith(built)) return undefined;
            const place = path === FINDS_BESIDE_ITSELF ? join(bundle, relative(built, path)) : path;
            const url = JSON.stringify(pathToFileURL(place).href);
            const text = readFileSync(path, "utf8").replaceAll("import.meta.url", url);
            return { contents: path === PASSWORDS ? withCheapHashes(text) : text };
          });
        },
      },
    ],
  });
  return join(bundle, "core", "main.js");
}

function withCheapHashes(text: string): string {
  if (!SHIPPED_COST.test(text)) throw new Error(`${PASSWORDS} has no ${SHIPPED_COST}`);
  return text.replace(SHIPPED_COST, "memoryCost: 64, timeCost: 1,");
}
