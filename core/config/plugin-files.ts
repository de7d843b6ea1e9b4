import { existsSync, readFileSync, realpathSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isObject, parseJson } from "../process/json.ts";

/** The folder of the built-in plugins. Each has a subfolder with its name. */
export const BUILT_IN = new URL("../../plugins/", import.meta.url);

/** Returns the name of a built-in plugin, whichever path leads to its module; undefined for other plugins. */
export function builtInName(url: string): string | undefined {
  const folder = dirname(fileURLToPath(url));
  const isBuiltIn = dirname(folder) === realpathSync(fileURLToPath(BUILT_IN));
  return isBuiltIn ? basename(folder) : undefined;
}

/** Returns the file URL of a plugin's module, symbolic links resolved; undefined if there is none. */
export function locate(name: string, folder: string): string | undefined {
  const url = find(name, folder);
  return url === undefined ? undefined : pathToFileURL(realpathSync(fileURLToPath(url))).href;
}

function find(name: string, folder: string): string | undefined {
  if (/^(?:\.{1,2})?\//.test(name)) {
    const path = resolve(folder, name);
    const index = ["index.js", "index.mjs", "index.ts"].map((file) => join(path, file));
    const found = [...index, path].find((file) => existsSync(file));
    return found === undefined ? undefined : pathToFileURL(found).href;
  }
  if (/^[a-z][a-z0-9-]*$/.test(name)) {
    const builtIn = new URL(`${name}/index.js`, BUILT_IN);
    if (existsSync(builtIn)) return builtIn.href;
  }
  return locatePackage(name, folder) ?? locatePackage(name, process.cwd());
}

function locatePackage(name: string, folder: string): string | undefined {
  const require = createRequire(join(folder, "config.yaml"));
  for (const modules of require.resolve.paths(name) ?? []) {
    const file = join(modules, name, "package.json");
    if (!existsSync(file)) continue;
    const entry = entryOf(parseJson(readFileSync(file, "utf8")));
    if (entry !== undefined) return pathToFileURL(join(dirname(file), entry)).href;
  }
  try {
    return pathToFileURL(require.resolve(name)).href;
  } catch {
    return undefined;
  }
}

/**
 * Returns the main module of a package as `import` would find it. For another folder Node offers only the resolution
 * of `require`, which misses packages with only an `import` condition.
 */
function entryOf(manifest: unknown): string | undefined {
  if (!isObject(manifest)) return undefined;
  const { exports } = manifest;
  if (exports === undefined) return undefined;
  return target(isObject(exports) && "." in exports ? exports["."] : exports);
}

function target(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (!isObject(entry)) return undefined;
  for (const [condition, next] of Object.entries(entry)) {
    if (!["node", "import", "module-sync", "default"].includes(condition)) continue;
    const found = target(next);
    if (found !== undefined) return found;
  }
  return undefined;
}

const SPECIFIER = "tollgate/plugin";
const CONTRACT = new URL("../plugin/index.js", import.meta.url).href;

let isOffered = false;

/**
 * Lets plugins outside this package import `tollgate/plugin` without a node_modules folder. They always get the
 * running copy, even if another version is installed.
 *
 * Node 22.15 and later resolve it in this thread, at no cost. Earlier versions start a thread (65 ms, 12 MB), so
 * call this only for plugins that are not built in.
 */
export function offerContract(): void {
  if (isOffered) return;
  isOffered = true;
  if (nodeModule.registerHooks) {
    nodeModule.registerHooks({
      resolve: (specifier, context, next) =>
        specifier === SPECIFIER ? FOUND : next(specifier, context),
    });
    return;
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === ${JSON.stringify(SPECIFIER)} ? ${JSON.stringify(FOUND)} : next(specifier, context);`;
  nodeModule.register(`data:text/javascript,${encodeURIComponent(hook)}`);
}

const FOUND = { url: CONTRACT, format: "module", shortCircuit: true };
