import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as v from "valibot";
import type { LoadedPlugin } from "../contract/config.ts";
import type { PluginModule } from "../contract/plugin.ts";
import { isObject, parseJson } from "../process/json.ts";
import { offerContract } from "./offer-contract.ts";
import type { Path, Problems } from "./problem.ts";
import { pluginEntry } from "./schema.ts";
import { attempt, validate } from "./validate.ts";
import type { Source } from "./yaml.ts";

export type ImportPlugin = (url: string) => Promise<unknown>;

/** The folder of the plugins that come with the gateway: one folder each, named like the plugin. */
export const BUILT_IN = new URL("../../plugins/", import.meta.url);

/** Loads the plugins of a config in their order; those that cannot be loaded are told to `problems`. */
export async function loadPlugins(
  entries: readonly unknown[],
  source: Source,
  problems: Problems,
  importPlugin: ImportPlugin = (url) => import(url),
): Promise<LoadedPlugin[]> {
  const loaded: LoadedPlugin[] = [];
  const names = new Set<string>();
  for (const [index, given] of entries.entries()) {
    const entry = attempt(pluginEntry, given);
    if (entry === undefined) continue;
    const [name = "", options] =
      typeof entry === "string" ? [entry] : (Object.entries(entry)[0] ?? []);
    const at: Path = typeof entry === "string" ? ["plugins", index] : ["plugins", index, name];
    if (names.has(name)) {
      problems.add(source, at, "expected every plugin once");
      continue;
    }
    names.add(name);
    const module = await findModule(name, source, at, problems, importPlugin);
    if (!module) continue;
    loaded.push({ name, module, options: readOptions(module, options, source, at, problems) });
  }
  return loaded;
}

/** A plugin that comes with the gateway; undefined where there is none of that name. Rejects where it is broken. */
export async function importBuiltIn(name: string): Promise<PluginModule | undefined> {
  const url = new URL(`${name}/index.js`, BUILT_IN);
  if (!existsSync(url)) return undefined;
  const module: unknown = await import(url.href);
  return isPluginModule(module) ? module : undefined;
}

async function findModule(
  name: string,
  source: Source,
  at: Path,
  problems: Problems,
  importPlugin: ImportPlugin,
): Promise<PluginModule | undefined> {
  const url = locate(name, dirname(resolve(source.file)));
  if (url === undefined) {
    problems.add(
      source,
      at,
      "expected a built-in plugin, a path that begins with ./, ../ or /, or an installed package; " +
        `found none named ${source.writtenAt(at) || name}`,
    );
    return undefined;
  }
  if (isTypeScript(url) && !runsTypeScript) {
    problems.add(
      source,
      at,
      "expected a module in JavaScript: this Node does not run TypeScript; " +
        "compile the plugin with tsc and name the .js file, or use Node 22.18 or later",
    );
    return undefined;
  }
  if (!url.startsWith(BUILT_IN.href)) offerContract();
  try {
    const module = await importPlugin(url);
    if (isPluginModule(module)) return module;
    problems.add(source, at, "expected a module whose default export makes a plugin");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.add(source, at, `expected a module that can be loaded: ${reason}`);
  }
  return undefined;
}

function readOptions(
  module: PluginModule,
  given: unknown,
  source: Source,
  at: Path,
  problems: Problems,
): unknown {
  const options = given ?? undefined;
  if (module.options) return validate(module.options, options ?? {}, source, at, problems);
  if (options !== undefined) problems.add(source, at, "expected no options: the plugin takes none");
  return undefined;
}

/** Node 22.18 and later take the types out of a module when they load it. */
const runsTypeScript = "typescript" in process.features && Boolean(process.features.typescript);

function isTypeScript(url: string): boolean {
  return /\.[cm]?ts$/.test(url);
}

/** Where the module of a plugin stands, as a URL; undefined where there is none. */
function locate(name: string, folder: string): string | undefined {
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

function isPluginModule(module: unknown): module is PluginModule {
  if (typeof module !== "object" || module === null) return false;
  if (!("default" in module) || typeof module.default !== "function") return false;
  return !("options" in module) || module.options === undefined || isSchema(module.options);
}

function isSchema(value: unknown): value is v.GenericSchema {
  return isObject(value) && value["kind"] === "schema" && value["async"] === false;
}
