import type { LoadFnOutput, LoadHookContext } from "node:module";
import type { Plant } from "./plants.ts";

type Next = (url: string, context: LoadHookContext) => LoadFnOutput | Promise<LoadFnOutput>;

/** This module reads the Lua files, so their bugs are planted after it has read one. */
const READS_LUA = "core/redis/script.js";
const READING = 'return readFileSync(join(packageRoot, file), "utf8");';

let plant: Plant | undefined;

/** Called by Node in the thread of its module hooks. */
export function initialize(data: Plant): void {
  plant = data;
}

export async function load(
  url: string,
  context: LoadHookContext,
  next: Next,
): Promise<LoadFnOutput> {
  const loaded = await next(url, context);
  if (plant === undefined) return loaded;
  const { file, find, replace } = plant;
  const source = () => String(loaded.source ?? "");
  if (file.endsWith(".lua")) {
    if (!url.endsWith(`/dist/${READS_LUA}`)) return loaded;
    const planted = [
      'const text = readFileSync(join(packageRoot, file), "utf8");',
      `if (file !== ${JSON.stringify(file)}) return text;`,
      `const parts = text.split(${JSON.stringify(find)});`,
      'if (parts.length !== 2) throw new Error("the plant is out of date");',
      `return parts.join(${JSON.stringify(replace)});`,
    ];
    return { ...loaded, source: replaceOnce(source(), READING, planted.join("\n")) };
  }
  if (!url.endsWith(`/dist/${file.replace(/\.ts$/, ".js")}`)) return loaded;
  return { ...loaded, source: replaceOnce(source(), find, replace) };
}

function replaceOnce(text: string, find: string, replace: string): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`the plant is out of date: ${find} occurs ${parts.length - 1} times`);
  return parts.join(replace);
}
