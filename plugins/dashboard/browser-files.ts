import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hashOf } from "./asset.ts";

/** A file that browsers load. */
export interface BrowserFile {
  /** Path below the assets folder: `pages/keys.js`. */
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Returns the compiled scripts, the styles and pictures, and the chart library, sorted by name. */
export function browserFiles(): BrowserFile[] {
  const scripts = fileURLToPath(new URL("./browser/", import.meta.url));
  // tsc copies no styles or pictures to dist, so they are read from the sources.
  const others = fileURLToPath(new URL("../../../plugins/dashboard/public/", import.meta.url));
  return [
    ...filesBelow(scripts, /\.js$/),
    ...filesBelow(others, /\.(?:css|svg)$/),
    ...chartFiles(),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * One hash for all files, which names their folder: scripts import each other by relative paths, so
 * they must change folder together.
 */
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

/** uPlot's smallest build sets a global variable; an appended `export` makes it a module. */
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
