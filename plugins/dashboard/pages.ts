import { parseCookie } from "cookie";
import type { PlainRequest, PlainResponse } from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "./asset.ts";
import { browserFiles, hashOfFiles } from "./browser-files.ts";
import { type DocumentParts, documentFor, languages, themes } from "./document.ts";

/** The paths of the pages below `/dashboard/`; `top-up/…` shows one order. */
const PATHS =
  /^(?:|sign-in|sign-up|verify|forgot|reset|usage|keys|top-up|top-up\/[0-9a-f-]{36}|money|models|chat|how-to|account)$/;

/**
 * Runs only scripts of this gateway, and never turns text, such as a model's reply, into markup.
 * Allows `data:` and `blob:` images for QR codes and for attachments that are not sent yet.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PAGE_HEADERS = [
  "content-security-policy",
  CONTENT_SECURITY_POLICY,
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
  "permissions-policy",
  "camera=(), microphone=(), geolocation=(), payment=()",
];

/** The URL of a file contains the hash of all files, so its content never changes. */
const CACHE_IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends a visitor of the bare address to the pages, and a browser that looks for an icon to theirs. */
export const entries: readonly { readonly path: string; readonly handler: () => PlainResponse }[] =
  [
    { path: "/", handler: () => found("/dashboard") },
    {
      path: "/favicon.ico",
      handler: () => found(`/dashboard/assets/${hashOfFiles(browserFiles())}/icon.svg`),
    },
  ];

function found(location: string): PlainResponse {
  return { status: 302, headers: ["location", location, "cache-control", "no-store"] };
}

/**
 * Serves the HTML document and the files that it loads. Both are public and the same for every
 * visitor; customer data comes through the API. Reads the files once, when the handler is made.
 */
export function pagesHandler(
  serviceName: string,
  support: string | undefined,
): (request: PlainRequest) => PlainResponse {
  const files = browserFiles();
  const folder = `assets/${hashOfFiles(files)}`;
  const assets = new Map<string, Asset>();
  for (const { name, type, content } of files) {
    assets.set(`${folder}/${name}`, textAsset(type, content, CACHE_IMMUTABLE));
  }
  const documents = documentsFor({ serviceName, support, folder: `/dashboard/${folder}`, files });

  return (request) => {
    const path = request.params["*"] ?? "";
    const asset = assets.get(path);
    if (asset) return respond(asset, request);
    if (path.startsWith("assets/")) return { status: 404, headers: ["cache-control", "no-store"] };
    const document = documents(request.headers);
    const response = respond(document, request, PAGE_HEADERS);
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
    const cookies = parseCookie(headers["cookie"] ?? "");
    const wanted = cookies["tollgate_language"] ?? wantedLanguage(headers["accept-language"] ?? "");
    const language = choice(wanted, languages);
    const theme = choice(cookies["tollgate_theme"], themes);
    const document = made.get(`${language} ${theme}`);
    if (!document) throw new Error(`there is no document in ${language}, ${theme}`);
    return document;
  };
}

/** Returns the language that a browser wants most of those that there are; undefined if it wants none of them. */
function wantedLanguage(header: string): string | undefined {
  const wishes = header.split(",").map((wish) => {
    const [tag = "", ...parameters] = wish
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const quality = parameters.find((one) => one.startsWith("q="))?.slice(2);
    return { language: tag.split("-")[0] ?? "", quality: Number(quality ?? 1) };
  });
  return wishes
    .filter(({ language, quality }) => quality > 0 && languages.some((one) => one === language))
    .sort((a, b) => b.quality - a.quality)[0]?.language;
}

/** Returns the value of a cookie if it is one of the options, otherwise the first option. */
function choice<const T extends readonly [string, ...string[]]>(
  value: string | undefined,
  options: T,
): T[number] {
  return options.find((option) => option === value) ?? options[0];
}
