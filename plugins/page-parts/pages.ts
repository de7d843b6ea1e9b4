import type { PlainRequest, PlainResponse } from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "./asset.ts";
import { findRoute, type Route } from "./browser/routes.ts";
import { type BrowserFile, browserFiles, hashOfFiles, styleSheet } from "./browser-files.ts";
import { type DocumentParts, documentFor } from "./document.ts";
import { pageHeaders } from "./page-headers.ts";
import { languageOf, themeOf } from "./preferences.ts";

/** The URL of a file contains the hash of all files, so its content never changes. */
const CACHE_IMMUTABLE = "public, max-age=31536000, immutable";

/** The files of the pages, read once, and the styles that are part of every document. */
export interface PageFiles {
  /** URL path of their folder, which names their content: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly files: readonly BrowserFile[];
  /** The same, by URL path. */
  readonly assets: ReadonlyMap<string, Asset>;
  readonly style: string;
}

const known = new Map<string, PageFiles>();

/**
 * Reads the files of a plugin's pages, which lie below `base`, once: at a reload calls are served beside it. `styles`: a
 * style sheet that only they have.
 */
export function pageFiles(plugin: string, base: string, styles?: string): PageFiles {
  const before = known.get(base);
  if (before) return before;
  const files = browserFiles(plugin);
  const folder = `${base}/assets/${hashOfFiles(files)}`;
  // In the document, as a request of its own would delay the first sight of a page.
  const own = styles === undefined ? "" : styleSheet(plugin, styles);
  const style = styleSheet("page-parts", "style.css").replaceAll('url("', `url("${folder}/`) + own;
  const assets = new Map(
    files.map(({ name, type, content }) => [
      `${folder}/${name}`,
      textAsset(type, content, CACHE_IMMUTABLE),
    ]),
  );
  const read = { folder, files, assets, style };
  known.set(base, read);
  return read;
}

interface Pages extends Pick<DocumentParts, "serviceName" | "texts" | "home"> {
  /** The path of all pages: `/dashboard`. */
  readonly base: string;
  readonly routes: readonly Route[];
  /** Attributes of the document, which its scripts read. Reloads may change them. */
  data(): DocumentParts["data"];
  /** More headers of a page: name, value, name, value. `rest`: the path below that of the page. */
  headersOf?(found: { route: Route; rest: string }, request: PlainRequest): readonly string[];
}

/**
 * Serves the HTML document of each page at `base/*`, and the files that it loads. Both are public and the same for every
 * visitor; what only some may see comes through the API.
 */
export function pagesHandler(
  { folder, files, assets, style }: PageFiles,
  pages: Pages,
): (request: PlainRequest) => PlainResponse {
  const { base, routes } = pages;
  const headers = pageHeaders(style);
  const made = new Map<string, Asset>();

  /** Makes a document when it is first asked for: for a page, by the cookies of the request, else by its languages. */
  function documentOf(request: PlainRequest, page: Route | undefined): Asset {
    const language = languageOf(request.headers);
    const theme = themeOf(request.headers);
    const data = pages.data();
    const key = JSON.stringify([language, theme, page?.path, data]);
    const known = made.get(key);
    if (known) return known;
    const html = documentFor({ ...pages, folder, files, style, data, language, theme, page });
    const document = textAsset("text/html; charset=utf-8", html, "no-cache");
    made.set(key, document);
    return document;
  }

  return (request) => {
    const path = request.params["*"] ?? "";
    const asset = assets.get(`${base}/${path}`);
    if (asset) return respond(asset, request);
    if (path.startsWith("assets/")) return { status: 404, headers: ["cache-control", "no-store"] };
    const found = findRoute(base, routes, request.path);
    const more = found ? (pages.headersOf?.(found, request) ?? []) : [];
    const response = respond(documentOf(request, found?.route), request, [...headers, ...more]);
    return response.status === 200 && !found ? { ...response, status: 404 } : response;
  };
}
