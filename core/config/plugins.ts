import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Config } from "../plugin/config.ts";
import {
  CONFIG_KEYS,
  type ConfigWithPlugins,
  FIELDS,
  type LoadedPlugin,
  type PluginModule,
} from "../plugin/plugin.ts";
import { CORE_SLOT_NAMES, PLUGIN_SLOT_NAMES } from "../plugin/slot.ts";
import type { UpstreamKind } from "../plugin/upstream-kind.ts";
import { isObject, type JsonObject } from "../process/json.ts";
import { messageOf } from "../process/thrown.ts";
import { type UpstreamKinds, upstreamKinds } from "../upstream/kinds/index.ts";
import { catalogueWarnings } from "./catalogue-review.ts";
import { BUILT_IN, builtInName, locate, offerContract } from "./plugin-files.ts";
import type { Path } from "./problem.ts";
import { readSource } from "./read-source.ts";
import { pluginEntry } from "./schema.ts";
import type { Source } from "./source.ts";
import { faultOfKind } from "./upstream-schema.ts";
import { attempt, isSchema, validate } from "./validate.ts";

export type ImportPlugin = (url: string) => Promise<unknown>;

/** A plugin and its place in the config. */
export interface PlacedPlugin {
  readonly loaded: LoadedPlugin;
  /** Path in the config. Ends with the plugin's name, even if the config gives it no options. */
  readonly at: Path;
  /** Those that its options name. */
  readonly files: readonly Source[];
}

/** Loads the plugins of a config, in order. Leaves out those that fail, and reports the reasons. */
export async function loadPlugins(
  entries: readonly unknown[],
  source: Source,
  importPlugin: ImportPlugin = (url) => import(url),
): Promise<PlacedPlugin[]> {
  const placed: PlacedPlugin[] = [];
  const indexes = new Map<string, number>();
  for (const [index, given] of entries.entries()) {
    const entry = attempt(pluginEntry, given);
    if (entry === undefined) continue;
    const [name = "", options] =
      typeof entry === "string" ? [entry] : (Object.entries(entry)[0] ?? []);
    const at: Path = typeof entry === "string" ? ["plugins", index] : ["plugins", index, name];
    const url = locate(name, dirname(resolve(source.file)));
    const first = indexes.get(name) ?? indexes.get(url ?? "");
    if (first !== undefined) {
      source.report(at, `expected each plugin at most once; plugins[${first}] is the same plugin`);
      continue;
    }
    indexes.set(name, index);
    if (url === undefined) {
      source.report(at, notFound(source.writtenAt(at) || name));
      continue;
    }
    indexes.set(url, index);
    const module = await load(url, source, at, importPlugin);
    if (!module) continue;
    const own = readOptions(module, options, source, ["plugins", index, name]);
    const files: Source[] = [];
    const loaded: LoadedPlugin = {
      name: builtInName(url) ?? name,
      module,
      options: await withFiles(module, own, source, files),
    };
    placed.push({ loaded, at: ["plugins", index, name], files });
  }
  return placed;
}

/** Returns the gateway's own kinds of upstream, and those that plugins of the config bring. */
export function withKindsOf(placed: readonly PlacedPlugin[], source: Source): UpstreamKinds {
  const kinds: [UpstreamKind, ...UpstreamKind[]] = [...upstreamKinds];
  for (const { loaded, at } of placed) {
    const { upstreamKind: kind } = loaded.module;
    if (kind === undefined) continue;
    if (kinds.some(({ name }) => name === kind.name)) {
      const names = kinds.map(({ name }) => name).join(", ");
      source.report(at, `expected an upstreamKind whose name is none of ${names}`);
    } else kinds.push(kind);
  }
  return kinds;
}

/** Runs each plugin's `review` of its options against the whole config. */
export function reviewOptions(
  placed: readonly PlacedPlugin[],
  config: Config,
  source: Source,
): void {
  for (const { loaded, at } of placed) {
    const { module, options } = loaded;
    // With a schema, undefined options are invalid and already reported.
    if (!module.review || (module.options && options === undefined)) continue;
    for (const { path, message, quoted } of module.review(options, config)) {
      const place = [...at, ...path];
      const got = quoted ? `, got ${source.writtenAt(place)}` : "";
      source.report(place, message + got);
    }
  }
}

/** Returns lines about what an operator may have made by mistake. */
export function configWarnings(config: ConfigWithPlugins): string[] {
  const ofPlugins = config.plugins.flatMap(
    ({ module, options }) => module.warnings?.(options, config) ?? [],
  );
  return [...catalogueWarnings(config.catalogue), ...ofPlugins];
}

function notFound(name: string): string {
  return (
    "expected a built-in plugin, a path that begins with ./, ../ or /, or an installed package; " +
    `found none named ${name}`
  );
}

/** Imports a built-in plugin; undefined if there is none of that name. Rejects if the module throws. */
export async function importBuiltIn(name: string): Promise<PluginModule | undefined> {
  const url = new URL(`${name}/index.js`, BUILT_IN);
  if (!existsSync(url)) return undefined;
  const module: unknown = await import(url.href);
  return isPluginModule(module) ? module : undefined;
}

async function load(
  url: string,
  source: Source,
  at: Path,
  importPlugin: ImportPlugin,
): Promise<PluginModule | undefined> {
  if (/\.[cm]?ts$/.test(url) && !runsTypeScript) {
    source.report(
      at,
      "expected a JavaScript module, since this Node does not run TypeScript; " +
        "compile the plugin with tsc and name the .js file, or use Node 22.18 or later",
    );
    return undefined;
  }
  if (builtInName(url) === undefined) offerContract();
  try {
    const module = await importPlugin(url);
    if (isPluginModule(module)) {
      const fault = faultOf(module);
      if (fault === undefined) return module;
      source.report(at, fault);
    } else source.report(at, "expected a module whose default export creates a plugin");
  } catch (error) {
    const reason = messageOf(error);
    source.report(at, `expected a module that can be loaded: ${reason}`);
  }
  return undefined;
}

/** The lists that a plugin module may export, and the words allowed in each; undefined allows any. */
const STATEMENTS = {
  after: undefined,
  requires: FIELDS,
  takes: FIELDS,
  sets: FIELDS,
  uses: [...CORE_SLOT_NAMES, ...PLUGIN_SLOT_NAMES],
  provides: PLUGIN_SLOT_NAMES,
  reads: CONFIG_KEYS,
} as const;

function faultOf(module: PluginModule): string | undefined {
  for (const [key, words] of Object.entries(STATEMENTS)) {
    const stated: unknown = module[key as keyof typeof STATEMENTS];
    if (stated === undefined) continue;
    const isKnown = (item: unknown) =>
      typeof item === "string" && (words === undefined || words.some((word) => word === item));
    if (Array.isArray(stated) && stated.every(isKnown)) continue;
    return `expected a module whose export ${key} is a list of ${words?.join(", ") ?? "plugins"}`;
  }
  const { upstreamKind } = module;
  return upstreamKind === undefined ? undefined : faultOfKind(upstreamKind);
}

function readOptions(module: PluginModule, given: unknown, source: Source, at: Path): unknown {
  const options = given ?? undefined;
  if (module.options) return validate(module.options, options ?? {}, source, at);
  if (options !== undefined) source.report(at, "expected no options; this plugin has none");
  return undefined;
}

/** Returns options in which the names of files are replaced by their checked content. Adds the files to `read`. */
async function withFiles(
  { files }: PluginModule,
  options: unknown,
  source: Source,
  read: Source[],
): Promise<unknown> {
  if (!files || !isObject(options)) return options;
  const filled: JsonObject = { ...options };
  for (const [name, schema] of Object.entries(files)) {
    const given = options[name];
    if (typeof given !== "string") continue;
    const file = await readSource(source.beside(given), source.environment, source.problems);
    if (file) read.push(file);
    filled[name] = file && validate(schema, file.value, file, []);
  }
  return filled;
}

/** Node 22.18 and later strip the types when they load a module. */
const runsTypeScript = "typescript" in process.features && Boolean(process.features.typescript);

function isPluginModule(module: unknown): module is PluginModule {
  if (typeof module !== "object" || module === null) return false;
  if (!("default" in module) || typeof module.default !== "function") return false;
  return !("options" in module) || module.options === undefined || isSchema(module.options);
}
