import { posix } from "node:path";

/** The scripts of every page: those that `main.js` imports, and those that two pages share. */
const FIRST = "main.js";

const ON_DEMAND = /\bimport\("([^"]+)"\)/g;

/** A script, with the names of the files that it imports at its start and on demand. */
interface Script {
  readonly head: string;
  readonly body: string;
  readonly exported: readonly string[];
  readonly imports: readonly string[];
  readonly onDemand: readonly string[];
}

/**
 * Joins the compiler's output into the few scripts that browsers load: one for each script that is
 * imported on demand, such as a page, with all that only it imports; and `main.js` with the rest.
 * On a slow line 25 small files take 2 s longer. Each script keeps a scope of its own, so that equal
 * names do not meet: a constant named after it, `$pages_keys`, which holds its exports.
 *
 * `scripts`: texts by path. `libraries`: paths of library files, by what scripts import them as.
 * Throws if an import or an export has a form that it does not know, or if a script is imported in both ways.
 */
export function joinScripts(
  scripts: ReadonlyMap<string, string>,
  libraries: ReadonlyMap<string, string>,
): Map<string, string> {
  const read = new Map<string, Script>();
  /** The file that each script becomes part of; scripts come after what they import. */
  const ownerOf = new Map<string, string>();
  const roots = new Set([FIRST]);

  const fileOf = (name: string, specifier: string): string => {
    const file = libraries.get(specifier) ?? posix.join(posix.dirname(name), specifier);
    if (libraries.has(specifier) || scripts.has(file)) return file;
    throw new Error(`${name} imports ${specifier}, which no browser can load`);
  };
  const visit = (name: string, root: string): void => {
    const text = scripts.get(name);
    const owner = ownerOf.get(name);
    if (text === undefined || owner === root || owner === FIRST) return;
    const script = read.get(name) ?? readScript(name, text, fileOf);
    read.set(name, script);
    for (const other of script.imports) visit(other, root);
    ownerOf.set(name, owner === undefined ? root : FIRST);
    for (const other of script.onDemand) if (scripts.has(other)) roots.add(other);
  };
  for (const root of roots) visit(root, root);
  for (const root of roots) {
    if (ownerOf.get(root) !== root) throw new Error(`${root} is imported on demand and otherwise`);
  }

  const joined = new Map<string, string>();
  for (const [name, into] of ownerOf) {
    const { head, body, exported } = read.get(name) as Script;
    const code = body.replace(ON_DEMAND, (_, specifier: string) => {
      const other = fileOf(name, specifier);
      const owner = ownerOf.get(other);
      const whole = `import("${pathFrom(into, owner ?? other)}")`;
      return owner === undefined ? whole : `${whole}.then((joined) => joined.${scopeOf(other)})`;
    });
    const scope = `export const ${scopeOf(name)} = (() => {\n${head}${code}return { ${exported.join(", ")} };\n})();\n`;
    joined.set(into, (joined.get(into) ?? "") + scope);
  }
  for (const [into, text] of joined) {
    const parts = [...ownerOf].filter(([, owner]) => owner === into);
    const needed = new Set(parts.flatMap(([name]) => read.get(name)?.imports ?? []));
    const imports = [...needed].map((other) => {
      const owner = ownerOf.get(other);
      if (owner === into) return "";
      const what = owner === undefined ? `* as ${scopeOf(other)}` : `{ ${scopeOf(other)} }`;
      return `import ${what} from "${pathFrom(into, owner ?? other)}";\n`;
    });
    joined.set(into, imports.join("") + text);
  }
  return joined;
}

function readScript(
  name: string,
  text: string,
  fileOf: (name: string, specifier: string) => string,
): Script {
  const imports: string[] = [];
  const exported: string[] = [];
  const code = text.replace(/^ *(?:\/\*\*.*?\*\/|\/\/[^\n]*)\n/gms, "");
  // Imports come first. Further down the same words are code that a page shows.
  const start = /^(?!import ).+/m.exec(code)?.index ?? code.length;
  const head = code
    .slice(0, start)
    .replace(
      /^import (\w+)?(?:, )?(?:\{(.*)\})? from "(.+)";$/gm,
      (_, standard: string | undefined, names = "", specifier = "") => {
        const other = fileOf(name, specifier);
        imports.push(other);
        const constants = (standard ? `default: ${standard}, ` : "") + names.replace(/ as /g, ": ");
        return `const { ${constants} } = ${scopeOf(other)};`;
      },
    );
  const body = code
    .slice(start)
    .replace(/^export ((?:async )?(?:function\*?|const|class) (\w+))/gm, (_, begin, one) => {
      exported.push(one);
      return begin;
    })
    .replace(/^export \{\};\n/m, "");
  const strange = /^import .*/m.exec(head) ?? /^export [{*dl].*/m.exec(body);
  if (strange) throw new Error(`${name} has an import or export of another form: ${strange[0]}`);
  const found = Array.from(body.matchAll(ON_DEMAND), ([, specifier = ""]) => specifier);
  const onDemand = found.map((specifier) => fileOf(name, specifier));
  return { head, body, exported, imports, onDemand };
}

function scopeOf(file: string): string {
  return `$${file.replace(/\.js$/, "").replace(/\W/g, "_")}`;
}

function pathFrom(file: string, other: string): string {
  const path = posix.relative(posix.dirname(file), other);
  return path.startsWith(".") ? path : `./${path}`;
}
