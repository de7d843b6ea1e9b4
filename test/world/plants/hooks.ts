import type {
  LoadFnOutput,
  LoadHookContext,
  ResolveFnOutput,
  ResolveHookContext,
} from "node:module";
import { PLANTS, type Plant } from "./plants.ts";

type NextResolve = (
  specifier: string,
  context: ResolveHookContext,
) => ResolveFnOutput | Promise<ResolveFnOutput>;
type NextLoad = (url: string, context: LoadHookContext) => LoadFnOutput | Promise<LoadFnOutput>;

/** This module reads the Lua files, so their bugs are planted after it has read one. */
const READS_LUA = "core/redis/script.ts";
const READING = 'return readFileSync(join(packageRoot, file), "utf8");';
/** Marks the modules of a planted world. A module hands it on to those of ours that it imports. */
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
  return { ...resolved, url: resolved.url + mark };
}

/** Called by Node in the thread of its module hooks. */
export async function load(
  url: string,
  context: LoadHookContext,
  next: NextLoad,
): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  const [mark = "", name] = MARK.exec(url) ?? [];
  const plant = name === undefined ? undefined : PLANTS[decodeURIComponent(name)];
  if (plant === undefined) return loaded;
  const path = url.slice(0, -mark.length);
  const source = planted(plant, path, String(loaded.source ?? ""));
  return source === undefined ? loaded : { ...loaded, source };
}

/** Returns the source of a module with the bug; undefined if the bug belongs elsewhere. */
function planted({ file, find, replace }: Plant, path: string, source: string): string | undefined {
  const isLua = file.endsWith(".lua");
  const module = isLua ? READS_LUA : file;
  if (!path.endsWith(`/dist/${module.replace(/\.ts$/, ".js")}`)) return undefined;
  if (!isLua) return replaceOnce(source, find, replace);
  const reading = [
    'const text = readFileSync(join(packageRoot, file), "utf8");',
    `if (file !== ${JSON.stringify(file)}) return text;`,
    `const parts = text.split(${JSON.stringify(find)});`,
    'if (parts.length !== 2) throw new Error("the plant is out of date");',
    `return parts.join(${JSON.stringify(replace)});`,
  ];
  return replaceOnce(source, READING, reading.join("\n"));
}

function replaceOnce(text: string, find: string, replace: string): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`the plant is out of date: ${find} occurs ${parts.length - 1} times`);
  return parts.join(replace);
}
