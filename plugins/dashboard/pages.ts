import { parseCookie } from "cookie";
import type { PlainRequest, PlainResponse, Services } from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "./asset.ts";
import { pages } from "./browser/page-table.ts";
import { findRoute, type Route, SIGNED_IN_COOKIE } from "./browser/routes.ts";
import { type BrowserFile, browserFiles, hashOfFiles, styleSheet } from "./browser-files.ts";
import { type DocumentParts, documentFor } from "./document.ts";
import { pageHeaders } from "./page-headers.ts";
import { languageOf, themeOf } from "./preferences.ts";

/** The URL of a file contains the hash of all files, so its content never changes. */
const CACHE_IMMUTABLE = "public, max-age=31536000, immutable";

/** The files of the pages, read once, and the styles that are part of every document. */
interface PageFiles {
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
  names: Pick<DocumentParts, "serviceName" | "support" | "demo">,
  customers: Services["customers"],
): (request: PlainRequest) => PlainResponse {
  const assets = new Map<string, Asset>();
  for (const { name, type, content } of files) {
    assets.set(`${folder}/${name}`, textAsset(type, content, CACHE_IMMUTABLE));
  }
  const documents = documentsFor({ ...names, folder, files, style }, customers);
  const headers = pageHeaders(style);

  return (request) => {
    const path = request.params["*"] ?? "";
    const asset = assets.get(`/dashboard/${path}`);
    if (asset) return respond(asset, request);
    if (path.startsWith("assets/")) return { status: 404, headers: ["cache-control", "no-store"] };
    const found = findRoute(pages, request.path);
    const page = found?.route;
    // One order of the page for top-ups reads other data.
    const read = found?.rest === "" ? readAhead(found.route, request.headers["cookie"] ?? "") : [];
    const response = respond(documents(request.headers, page), request, [...headers, ...read]);
    return response.status === 200 && !page ? { ...response, status: 404 } : response;
  };
}

/**
 * Lets a browser in which a customer is signed in ask for the account and the data of the page while it loads the
 * scripts. On a slow line each request after them takes another half second.
 */
function readAhead({ reads }: Route, cookies: string): string[] {
  if (parseCookie(cookies)[SIGNED_IN_COOKIE] === undefined) return [];
  const links = ["/me", ...reads].map(
    (path) => `</account/v1${path}>; rel=preload; as=fetch; crossorigin`,
  );
  return ["link", links.join(", ")];
}

/** Makes a document when it is first asked for: for a page, by the cookies of the request, else by its languages. */
function documentsFor(
  parts: Omit<DocumentParts, "language" | "theme" | "page" | "signUp" | "agreements">,
  customers: Services["customers"],
): (headers: PlainRequest["headers"], page: Route | undefined) => Asset {
  const made = new Map<string, Asset>();
  return (headers, page) => {
    const language = languageOf(headers);
    const theme = themeOf(headers);
    const { signUp, agreements } = customers.current;
    const key = `${language} ${theme} ${page?.path} ${signUp} ${JSON.stringify(agreements)}`;
    const known = made.get(key);
    if (known) return known;
    const html = documentFor({ ...parts, signUp, agreements, language, theme, page });
    const document = textAsset("text/html; charset=utf-8", html, "no-cache");
    made.set(key, document);
    return document;
  };
}
