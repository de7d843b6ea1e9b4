import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";

/** The public API: plugins outside of this repository import it. */
const CONTRACT = "core/plugin/index.ts";
/** The loader reads these from a plugin's module; no file imports them. */
const PLUGIN = /^plugins\/[^/]+\/index\.ts$/;
const OF_PLUGINS = new Set([
  ...["default", "options", "files", "review", "discounts", "warnings"],
  ...["after", "requires", "takes", "sets", "uses", "provides", "reads"],
]);

const DECLARED =
  /^export (?:declare )?(?:(default)\b|(?:abstract |async )*(?:function\*?|class|const|let|interface|type|enum) ([\w$]+))/gm;
/** `import a, { b } from "c"`, `export { b } from "c"`, `export { b }`. */
const LISTED =
  /^(import|export) (?:type )?(?:([\w$]+)(?:, )?)?(?:\{([^}]*)\})?(?: from "([^"]+)")?;/gm;
/** `import * as a from "c"`, `export * from "c"`, `import("c")`: all of a module may be used. */
const WHOLE = /(?:^(?:import|export) (?:type )?\* (?:as [\w$]+ )?from |\bimport\()"([^"]+)"/gm;
/** The module of a thread: `new URL("./a.js", import.meta.url)`. */
const OF_THREAD = /\bnew URL\("(\.[^"]+)\.js", import\.meta\.url\)/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g;

interface Exported {
  readonly file: string;
  readonly name: string;
}

/** Exports and imports of all files below some folders. */
class Sources {
  readonly exported: Exported[] = [];
  private readonly texts = new Map<string, string>();
  /** `file name` for each import; `file *` if all of that file may be used. */
  private readonly imported = new Set<string>();

  constructor(folders: readonly string[]) {
    for (const folder of folders) {
      const files = readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" });
      for (const file of files) {
        if (/(?<!\.d)\.ts$/.test(file)) this.read(slashes(join(folder, file)));
      }
    }
  }

  imports({ file, name }: Exported): boolean {
    return this.imported.has(`${file} ${name}`) || this.imported.has(`${file} *`);
  }

  /** Returns true if the file uses the name beyond its export. */
  usesItself({ file, name }: Exported): boolean {
    return (this.texts.get(file)?.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0) > 1;
  }

  private read(file: string): void {
    const text = readFileSync(join(packageRoot, file), "utf8").replace(COMMENTS, "");
    this.texts.set(file, text);
    for (const [, isDefault, name] of text.matchAll(DECLARED)) {
      this.exported.push({ file, name: isDefault ?? name ?? "" });
    }
    for (const [, keyword, main, list = "", from] of text.matchAll(LISTED)) {
      const names = list
        .split(",")
        .map((entry) => entry.trim().replace(/^type /, ""))
        .filter((entry) => entry !== "")
        .map((entry) => entry.split(" as "));
      for (const [name = "", alias = name] of names) {
        if (keyword === "export") this.exported.push({ file, name: alias });
        if (from !== undefined) this.imported.add(`${targetOf(file, from)} ${name}`);
      }
      if (main !== undefined && from) this.imported.add(`${targetOf(file, from)} default`);
    }
    for (const [, from = ""] of text.matchAll(WHOLE)) {
      this.imported.add(`${targetOf(file, from)} *`);
    }
    for (const [, from = ""] of text.matchAll(OF_THREAD)) {
      this.imported.add(`${targetOf(file, `${from}.ts`)} *`);
    }
  }
}

function targetOf(file: string, from: string): string {
  return from.startsWith(".") ? slashes(normalize(join(dirname(file), from))) : from;
}

function slashes(path: string): string {
  return path.split(sep).join("/");
}

const product = new Sources(["core", "plugins"]);
const others = new Sources(["bench", "test"]);
const unused = product.exported.filter(
  (one) =>
    one.file !== CONTRACT &&
    !(PLUGIN.test(one.file) && OF_PLUGINS.has(one.name)) &&
    !product.imports(one),
);
const shown = (all: readonly Exported[]) => all.map(({ file, name }) => `${file}: ${name}`);

t.test("exports", async (t) => {
  t.test("are found, and so are their imports", async (t) => {
    const all = new Set(shown(product.exported));
    const newId = { file: "core/process/id.ts", name: "newId" };
    for (const known of [
      newId,
      { file: CONTRACT, name: "newId" },
      { file: "core/plugin/plugin.ts", name: "Plugin" },
      { file: "core/process/timeout.ts", name: "TIMED_OUT" },
      { file: "plugins/settle/index.ts", name: "default" },
    ]) {
      t.ok(all.has(`${known.file}: ${known.name}`), `${known.file}: ${known.name}`);
    }
    t.ok(product.imports(newId) && others.imports(newId));
    t.ok(!product.imports({ file: "core/process/id.ts", name: "nothing" }));
  });

  t.test("are used by the product, not only by tests", async (t) => {
    const dead = unused.filter((one) => !product.usesItself(one));
    t.strictSame(shown(dead), [], "delete these, and test through exports that the product uses");
  });

  t.test("are imported by another file or by a test", async (t) => {
    const own = unused.filter((one) => product.usesItself(one) && !others.imports(one));
    t.strictSame(
      shown(own),
      [],
      "only their own files use these: remove `export`; if plugins may use one, add it to the contract's index.ts",
    );
  });
});
