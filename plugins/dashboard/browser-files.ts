import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { hashOf } from "./asset.ts";

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

/** Returns the compiled scripts, the fonts and pictures, and the libraries, sorted by name. */
export function browserFiles(): BrowserFile[] {
  const scripts = fileURLToPath(new URL("./browser/", import.meta.url));
  return [
    ...filesBelow(scripts, /\.js$/),
    ...filesBelow(PUBLIC, /\.(?:svg|woff2)$/),
    ...libraryFiles(),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
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

function filesBelow(folder: string, wanted: RegExp): BrowserFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => wanted.test(name))
    .map((path) => {
      const name = path.split(sep).join("/");
      const content = readFileSync(join(folder, path));
      if (!name.endsWith(".js")) return file(name, content);
      return file(name, withPaths(name, withoutSourceMap(content.toString())));
    });
}

/** Returns the files of libraries, each with its licence, which asks to be in every copy. */
function libraryFiles(): BrowserFile[] {
  const { resolve } = createRequire(import.meta.url);
  return LIBRARIES.map(({ library, source, name, end = "" }) => {
    const folder = dirname(resolve(`${library}/package.json`));
    const licence = readFileSync(join(folder, "LICENSE"), "utf8").trim();
    const content = withoutSourceMap(readFileSync(join(folder, source), "utf8"));
    return file(name, `/* ${library}\n${licence} */\n${content}${end}`);
  });
}

/** Names a library by its file, as browsers look for no packages. */
function withPaths(name: string, script: string): string {
  const up = "../".repeat(name.split("/").length - 1) || "./";
  const renamed = (quoted: string, specifier: string) => {
    const library = LIBRARIES.find((one) => one.specifier === specifier);
    if (!library) throw new Error(`${name} imports ${quoted}, which no browser can load`);
    return `"${up}${library.name}"`;
  };
  // Imports come first. Further down the same words are code that a page shows.
  const code = /^(?:export|const|let|class|function|async) /m.exec(script)?.index ?? script.length;
  const head = script.slice(0, code).replace(/(?<=^import [^;"]*)"([^".][^"]*)"/gm, renamed);
  return head + script.slice(code).replace(/(?<=\bimport\()"([^".][^"]*)"/g, renamed);
}

function withoutSourceMap(script: string): string {
  return script.replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
}

function file(name: string, content: string | Buffer): BrowserFile {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`${name} has no content type`);
  return { name, type, content };
}
