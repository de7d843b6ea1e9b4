import { parseCookie } from "cookie";
import type { PlainRequest, PlainResponse } from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "./asset.ts";
import { type BrowserFile, browserFiles, hashOfFiles, styleSheet } from "./browser-files.ts";
import { type DocumentParts, documentFor, themes } from "./document.ts";
import { choice, languageOf, languages } from "./language.ts";
import { pageHeaders } from "./page-headers.ts";

/** The paths of the pages below `/dashboard/`; `top-up/…` shows one order. */
const PATHS =
  /^(?:|sign-in|sign-up|verify|forgot|reset|usage|keys|top-up|top-up\/[0-9a-f-]{36}|money|models|chat|how-to|account)$/;

/** The URL of a file contains the hash of all files, so its content never changes. */
const CACHE_IMMUTABLE = "public, max-age=31536000, immutable";

/** The files of the pages, read once, and the styles that are part of every document. */
export interface PageFiles {
  /** URL path of their folder, which names their content: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly files: readonly BrowserFile[];
  readonly style: string;
}

export function pageFiles(): PageFiles {
  const files = browserFiles();
  const folder = `/dashboard/assets/${hashOfFiles(files)}`;
  // In the document, as a request of its own would delay the first sight of a page.
  const style = styleSheet("style.css").replaceAll('url("', `url("${folder}/`);
  return { folder, files, style };
}

/**
 * Serves the HTML document and the files that it loads. Both are public and the same for every
 * visitor; customer data comes through the API.
 */
export function pagesHandler(
  { folder, files, style }: PageFiles,
  names: Pick<DocumentParts, "serviceName" | "support">,
): (request: PlainRequest) => PlainResponse {
  const assets = new Map<string, Asset>();
  for (const { name, type, content } of files) {
    assets.set(`${folder}/${name}`, textAsset(type, content, CACHE_IMMUTABLE));
  }
  const documents = documentsFor({ ...names, folder, files, style });
  const headers = pageHeaders(style);

  return (request) => {
    const path = request.params["*"] ?? "";
    const asset = assets.get(`/dashboard/${path}`);
    if (asset) return respond(asset, request);
    if (path.startsWith("assets/")) return { status: 404, headers: ["cache-control", "no-store"] };
    const document = documents(request.headers);
    const response = respond(document, request, headers);
    return response.status === 200 && !PATHS.test(path) ? { ...response, status: 404 } : response;
  };
}

/** Makes a document per language and theme, and chooses one by the cookies of the request, else by its languages. */
function documentsFor(
  parts: Omit<DocumentParts, "language" | "theme">,
): (headers: PlainRequest["headers"]) => Asset {
  const made = new Map<string, Asset>();
  for (const language of languages) {
    for (const theme of themes) {
      const html = documentFor({ ...parts, language, theme });
      made.set(`${language} ${theme}`, textAsset("text/html; charset=utf-8", html, "no-cache"));
    }
  }
  return (headers) => {
    const language = languageOf(headers);
    const theme = choice(parseCookie(headers["cookie"] ?? "")["tollgate_theme"], themes);
    const document = made.get(`${language} ${theme}`);
    if (!document) throw new Error(`there is no document in ${language}, ${theme}`);
    return document;
  };
}
