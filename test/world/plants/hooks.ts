import { readFileSync } from "node:fs";
import type {
  LoadFnOutput,
  LoadHookContext,
  ResolveFnOutput,
  ResolveHookContext,
} from "node:module";
import { type Edit, PLANTS, type Plant } from "./plants.ts";

type NextResolve = (
  specifier: string,
  context: ResolveHookContext,
) => ResolveFnOutput | Promise<ResolveFnOutput>;
type NextLoad = (url: string, context: LoadHookContext) => LoadFnOutput | Promise<LoadFnOutput>;

/** This module reads the Lua files, so their bugs are planted after it has read one. */
const READS_LUA = "core/redis/script.ts";
const READING = 'return readFileSync(join(packageRoot, file), "utf8");';
/**
 * Marks the modules of a planted world. A module hands it on to those of ours that it imports and that lead to the bug:
 * all worlds share the others, which V8 has optimized.
 */
const MARK = /\?plant=(.+)$/;

/** Called by Node in the thread of its module hooks. */
export async function resolve(
  specifier: string,
  context: ResolveHookContext,
  next: NextResolve,
): Promise<ResolveFnOutput> {
  const resolved = await next(specifier, context);
  const [mark] = MARK.exec(context.parentURL ?? "") ?? [];
  if (mark === undefined || !specifier.startsWith(".")) return resolved;
  return leadsToBug(resolved.url, mark) ? { ...resolved, url: resolved.url + mark } : resolved;
}

/** Called by Node in the thread of its module hooks. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: NextLoad,
): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  const [mark = ""] = MARK.exec(url) ?? [];
  const plant = plantOf(mark);
  if (plant === undefined) return loaded;
  const path = url.slice(0, -mark.length);
  const source = planted(plant, path, String(loaded.source ?? ""));
  return source === undefined ? loaded : { ...loaded, source };
}

function plantOf(mark: string): Plant | undefined {
  const [, name] = MARK.exec(mark) ?? [];
  return name === undefined ? undefined : PLANTS[decodeURIComponent(name)];
}

/** Returns the edits of the module at this URL. */
function editsOf(plant: Plant, url: string): Edit[] {
  return [plant, ...(plant.also ?? [])].filter(({ file }) => {
    const module = file.endsWith(".lua") ? READS_LUA : file;
    return url.endsWith(`/dist/${module.replace(/\.ts$/, ".js")}`);
  });
}

/** URLs of our modules that a module imports, itself or through others. */
const imported = new Map<string, ReadonlySet<string>>();

function importedBy(url: string): ReadonlySet<string> {
  const known = imported.get(url);
  if (known !== undefined) return known;
  const all = new Set([url]);
  for (const each of all) {
    const source = readFileSync(new URL(each), "utf8");
    for (const [, specifier = ""] of source.matchAll(/(?:from|import)[\s(]*"(\.[^"]+)"/g))
      all.add(new URL(specifier, each).href);
  }
  imported.set(url, all);
  return all;
}

function leadsToBug(url: string, mark: string): boolean {
  const plant = plantOf(mark);
  return !plant || [...importedBy(url)].some((each) => editsOf(plant, each).length > 0);
}

/** Returns the source of a module with the bug; undefined if the bug belongs elsewhere. */
function planted(plant: Plant, path: string, source: string): string | undefined {
  const edits = editsOf(plant, path);
  if (edits.length === 0) return undefined;
  const lua = edits.filter(({ file }) => file.endsWith(".lua"));
  const own = edits.filter((edit) => !lua.includes(edit));
  const edited = own.reduce((text, edit) => replaceOnce(text, edit.find, edit.replace), source);
  return lua.length === 0 ? edited : replaceOnce(edited, READING, readingWith(lua));
}

function readingWith(edits: readonly Edit[]): string {
  const steps = edits.map(({ file, find, replace }) => [
    `if (file === ${JSON.stringify(file)}) {`,
    `const parts = text.split(${JSON.stringify(find)});`,
    'if (parts.length !== 2) throw new Error("the plant is out of date");',
    `text = parts.join(${JSON.stringify(replace)});`,
    "}",
  ]);
  const read = 'let text = readFileSync(join(packageRoot, file), "utf8");';
  return [read, ...steps.flat(), "return text;"].join("\n");
}

function replaceOnce(text: string, find: string, replace: string): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`the plant is out of date: ${find} occurs ${parts.length - 1} times`);
  return parts.join(replace);
}
