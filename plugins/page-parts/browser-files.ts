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

interface Library {
  /** How scripts import it. */
  readonly specifier?: string;
  readonly library: string;
  readonly source: string;
  readonly name: string;
  readonly end?: string;
}

/** Library files that browsers load as they are. */
const LIBRARIES: readonly Library[] = [
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
const publicOf = (room: string) =>
  fileURLToPath(new URL(`../../../plugins/${room}/public/`, import.meta.url));

/** As scripts of a plugin import those of this room. */
const SHARED = "../../page-parts/browser/";

/** Returns the joined scripts of a plugin, the fonts and pictures, and the libraries that it loads, sorted by name. */
export function browserFiles(plugin: string): BrowserFile[] {
  const libraries = LIBRARIES.flatMap(({ specifier, name }) =>
    specifier ? [[specifier, name] as const] : [],
  );
  const scripts = new Map([
    ...scriptsOf("page-parts").map(([name, text]) => [SHARED + name, text] as const),
    ...scriptsOf(plugin),
  ]);
  const joined = joinScripts(scripts, new Map(libraries));
  const texts = [...joined.values()];
  const isLoaded = ({ name }: Library) => texts.some((text) => text.includes(name));
  return [
    ...joined,
    ...filesBelow(publicOf("page-parts"), /\.(?:svg|woff2)$/),
    ...libraryFiles(
      LIBRARIES.filter((one) =>
        LIBRARIES.some((other) => other.library === one.library && isLoaded(other)),
      ),
    ),
  ]
    .map(([name, content]) => file(name, content))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the text of a style sheet without its comments. Documents have it inside: see pages.ts. */
export function styleSheet(room: string, name: string): string {
  return readFileSync(join(publicOf(room), name), "utf8").replace(/\/\*.*?\*\/\n*/gs, "");
}

/**
 * One hash for all files, which names their folder: scripts import each other by relative paths, so
 * they must change folder together.
 */
export function hashOfFiles(files: readonly BrowserFile[]): string {
  return hashOf(...files.flatMap(({ name, content }) => [name, "\n", content, "\n"]));
}

function scriptsOf(room: string): [name: string, content: string][] {
  const compiled = fileURLToPath(new URL(`../${room}/browser/`, import.meta.url));
  return filesBelow(compiled, /\.js$/).map(([name, content]) => {
    return [name, withoutSourceMap(content.toString())];
  });
}

function filesBelow(folder: string, wanted: RegExp): [name: string, content: Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => wanted.test(name))
    .map((path) => [path.split(sep).join("/"), readFileSync(join(folder, path))]);
}

/** Returns the files of libraries, each with its licence, which asks to be in every copy. */
function libraryFiles(libraries: readonly Library[]): [name: string, content: string][] {
  const { resolve } = createRequire(import.meta.url);
  return libraries.map(({ library, source, name, end = "" }) => {
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
