import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isObject, parseJson } from "../process/json.ts";

/** The folder of the plugins that come with the gateway: one folder each, named like the plugin. */
export const BUILT_IN = new URL("../../plugins/", import.meta.url);

/** The name of a plugin that comes with the gateway, whichever path leads to its module; undefined for others. */
export function builtInName(url: string): string | undefined {
  const folder = dirname(fileURLToPath(url));
  const isBuiltIn = dirname(folder) === realpathSync(fileURLToPath(BUILT_IN));
  return isBuiltIn ? basename(folder) : undefined;
}

const CODE = /\.[cm]?[jt]s$/;

/**
 * Changes whenever the code of a plugin does: its module, and if that is the `index` of a folder, all code in there
 * but that of its packages.
 */
export function fingerprint(url: string): string {
  const file = fileURLToPath(url);
  const folder = dirname(file);
  const files = /^index\.m?[jt]s$/.test(basename(file)) ? codeIn(folder) : [file];
  const hash = createHash("sha256");
  for (const each of files) hash.update(each).update(readFileSync(each));
  return hash.digest("hex");
}

function codeIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : codeIn(path);
      return entry.isFile() && CODE.test(entry.name) ? [path] : [];
    })
    .sort();
}

/** Where the module of a plugin stands, as a URL without links in it; undefined if there is none. */
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
 * The main module of a package as `import` finds it. Node resolves for a module elsewhere only as `require`
 * does, which misses packages that export to `import` alone.
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
