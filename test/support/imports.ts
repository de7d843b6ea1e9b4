import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";

/** Static imports and re-exports with what they name, imports for the effect, and dynamic imports. */
const IMPORTS =
  /^(?:import|export)\b([^;"]*?)\bfrom "(\.[^"]+)"|^import "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gms;

/** The files that each file imports, all relative to the root of the package. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads what these files import of each other. With `loaded`, only what Node loads: not the imports
 * of types alone, which the compiler erases.
 */
export function importsOf(files: readonly string[], loaded: boolean): Imports {
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(packageRoot, file), "utf8");
      const found = new Set<string>();
      for (const [, names = "", named, alone, dynamic] of text.matchAll(IMPORTS)) {
        if (loaded && namesTypesOnly(names)) continue;
        const target = join(dirname(file), named ?? alone ?? dynamic ?? "");
        if (known.has(target)) found.add(target);
      }
      return [file, found];
    }),
  );
}

function namesTypesOnly(names: string): boolean {
  if (/^\s*type\b/.test(names)) return true;
  const [, list] = /\{(.*)\}/s.exec(names) ?? [];
  const each = (list ?? "").split(",").map((name) => name.trim());
  return list !== undefined && each.every((name) => name === "" || name.startsWith("type "));
}

/** Names what each import goes to by `of`, such as its folder. Leaves out what stays inside. */
export function importsBetween(imports: Imports, of: (file: string) => string): Imports {
  const between = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const from = of(file);
    const found = between.get(from) ?? new Set();
    between.set(from, found);
    for (const target of targets) if (of(target) !== from) found.add(of(target));
  }
  return between;
}

/** Returns the groups of names that reach each other: the strongly connected components. */
export function circlesIn(imports: Imports): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (name: string): number => {
    const own = order.size;
    let low = own;
    order.set(name, own);
    open.push(name);
    for (const next of imports.get(name) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? own);
    }
    if (low === own) {
      const circle = open.splice(open.indexOf(name));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return low;
  };
  for (const name of imports.keys()) if (!order.has(name)) visit(name);
  return circles;
}
