import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hashOf } from "./asset.ts";

/** A file that browsers load. */
export interface BrowserFile {
  /** Its path below the folder of all of them: `pages/keys.js`. */
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Scripts as the compiler made them, styles and pictures as they were written, and the charts' library. */
export function browserFiles(): BrowserFile[] {
  const scripts = fileURLToPath(new URL("./browser/", import.meta.url));
  // The code runs from dist, the rest is read from the sources.
  const others = fileURLToPath(new URL("../../../plugins/dashboard/public/", import.meta.url));
  return [
    ...filesBelow(scripts, /\.js$/),
    ...filesBelow(others, /\.(?:css|svg)$/),
    ...chartFiles(),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One hash for all: scripts name one another by relative paths, which no change of one file must break. */
export function hashOfFiles(files: readonly BrowserFile[]): string {
  return hashOf(...files.flatMap(({ name, content }) => [name, "\n", content, "\n"]));
}

function filesBelow(folder: string, wanted: RegExp): BrowserFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => wanted.test(name))
    .map((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      return file(name.split(sep).join("/"), text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ""));
    });
}

/** Its smallest build sets a global variable; as a module it exports it instead. */
function chartFiles(): BrowserFile[] {
  const require = createRequire(import.meta.url);
  const main = require.resolve("uplot");
  const read = (name: string) => readFileSync(join(main, "..", name), "utf8");
  return [
    file("vendor/uplot.js", `${read("uPlot.iife.min.js")}\nexport default uPlot;\n`),
    file("vendor/uplot.css", read("uPlot.min.css")),
  ];
}

function file(name: string, content: string): BrowserFile {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`${name} has no content type`);
  return { name, type, content };
}
