import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hashOf } from "./asset.ts";
import { joinScripts } from "./join-scripts.ts";

/** A file that browsers load. */
export interface BrowserFile {
  /** Path below the assets folder: `pages/keys.js`. */
  readonly name: string;
  readonly type: string;
  readonly content: string | Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

/** Library files that browsers load as they are. `specifier`: how scripts import it. */
const LIBRARIES: readonly {
  readonly specifier?: string;
  readonly library: string;
  readonly source: string;
  readonly name: string;
  readonly end?: string;
}[] = [
  {
    specifier: "uplot",
    library: "uplot",
    // The smallest build sets a global variable. The export makes it a module.
    source: "dist/uPlot.iife.min.js",
    name: "vendor/uplot.js",
    end: "\nexport default uPlot;\n",
  },
  { library: "uplot", source: "dist/uPlot.min.css", name: "vendor/uplot.css" },
  {
    specifier: "markdown-it/browser",
    library: "markdown-it",
    source: "dist/browser/markdown-it.esm.min.mjs",
    name: "vendor/markdown-it.js",
  },
  {
    specifier: "eventsource-parser/stream",
    library: "eventsource-parser",
    source: "dist/stream.js",
    name: "vendor/eventsource-parser/stream.js",
  },
  {
    library: "eventsource-parser",
    source: "dist/index.js",
    name: "vendor/eventsource-parser/index.js",
  },
];

/** tsc copies no styles, fonts or pictures to dist, so they are read from the sources. */
const PUBLIC = fileURLToPath(new URL("../../../plugins/dashboard/public/", import.meta.url));

/** Returns the joined scripts, the fonts and pictures, and the libraries, sorted by name. */
export function browserFiles(): BrowserFile[] {
  const compiled = fileURLToPath(new URL("./browser/", import.meta.url));
  const scripts = filesBelow(compiled, /\.js$/).map(([name, content]) => {
    return [name, withoutSourceMap(content.toString())] as const;
  });
  const libraries = LIBRARIES.flatMap(({ specifier, name }) =>
    specifier ? [[specifier, name] as const] : [],
  );
  return [
    ...joinScripts(new Map(scripts), new Map(libraries)),
    ...filesBelow(PUBLIC, /\.(?:svg|woff2)$/),
    ...libraryFiles(),
  ]
    .map(([name, content]) => file(name, content))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the text of a style sheet without its comments. Documents have it inside: see `pageStyle`. */
export function styleSheet(name: "style.css" | "front.css"): string {
  return readFileSync(join(PUBLIC, name), "utf8").replace(/\/\*.*?\*\/\n*/gs, "");
}

/**
 * One hash for all files, which names their folder: scripts import each other by relative paths, so
 * they must change folder together.
 */
export function hashOfFiles(files: readonly BrowserFile[]): string {
  return hashOf(...files.flatMap(({ name, content }) => [name, "\n", content, "\n"]));
}

function filesBelow(folder: string, wanted: RegExp): [name: string, content: Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => wanted.test(name))
    .map((path) => [path.split(sep).join("/"), readFileSync(join(folder, path))]);
}

/** Returns the files of libraries, each with its licence, which asks to be in every copy. */
function libraryFiles(): [name: string, content: string][] {
  const { resolve } = createRequire(import.meta.url);
  return LIBRARIES.map(({ library, source, name, end = "" }) => {
    const folder = dirname(resolve(`${library}/package.json`));
    const licence = readFileSync(join(folder, "LICENSE"), "utf8").trim();
    const content = withoutSourceMap(readFileSync(join(folder, source), "utf8"));
    return [name, `/* ${library}\n${licence} */\n${content}${end}`];
  });
}

function withoutSourceMap(script: string): string {
  return script.replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
}

function file(name: string, content: string | Buffer): BrowserFile {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`${name} has no content type`);
  return { name, type, content };
}
