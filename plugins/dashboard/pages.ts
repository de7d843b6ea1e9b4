import { parseCookie } from "cookie";
import type { PlainRequest, PlainResponse } from "../../core/contract/index.ts";
import { type Asset, respond, textAsset } from "./asset.ts";
import { type BrowserFile, browserFiles, hashOfFiles } from "./browser-files.ts";
import { documentFor, languages, themes } from "./document.ts";

/** Pages by their path below `/dashboard/`; `top-up/…` shows one order. */
const PATHS =
  /^(?:|sign-in|sign-up|verify|forgot|reset|usage|keys|top-up|top-up\/[0-9a-f-]{36}|models|chat|how-to|account)$/;

/**
 * Nothing but this gateway's own files runs, and no text becomes markup: whatever a model answers, it stays
 * text. Pictures may come from memory: a QR code, an attachment before it is sent.
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

/** The name of a file holds the hash of all of them, so it never changes. */
const FOR_EVER = "public, max-age=31536000, immutable";

/**
 * Serves the dashboard: one document for all pages, and the files it loads. All of it is public and the same
 * for everybody; what is a customer's own comes through the API. Read once, when it is made.
 */
export function pagesHandler(serviceName: string): (request: PlainRequest) => PlainResponse {
  const files = browserFiles();
  const folder = `assets/${hashOfFiles(files)}`;
  const assets = new Map<string, Asset>();
  for (const { name, type, content } of files) {
    assets.set(`${folder}/${name}`, textAsset(type, content, FOR_EVER));
  }
  const documents = documentsFor(serviceName, `/dashboard/${folder}`, files);

  return (request) => {
    const path = request.params["*"] ?? "";
    const asset = assets.get(path);
    if (asset) return respond(asset, request);
    if (path.startsWith("assets/")) return { status: 404, headers: ["cache-control", "no-store"] };
    const document = documents(request.headers["cookie"] ?? "");
    const response = respond(document, request, PAGE_HEADERS);
    return response.status === 200 && !PATHS.test(path) ? { ...response, status: 404 } : response;
  };
}

/** A document for each language and theme, chosen by what the browser remembers of both. */
function documentsFor(
  serviceName: string,
  folder: string,
  files: readonly BrowserFile[],
): (cookie: string) => Asset {
  const made = new Map<string, Asset>();
  for (const language of languages) {
    for (const theme of themes) {
      const html = documentFor({ serviceName, folder, files, language, theme });
      made.set(`${language} ${theme}`, textAsset("text/html; charset=utf-8", html, "no-cache"));
    }
  }
  return (header) => {
    const cookies = parseCookie(header);
    const language = choice(cookies["tollgate_language"], languages);
    const theme = choice(cookies["tollgate_theme"], themes);
    const document = made.get(`${language} ${theme}`);
    if (!document) throw new Error(`there is no document in ${language}, ${theme}`);
    return document;
  };
}

/** The value of a cookie if it is one of the options; else the first of them. */
function choice<const T extends readonly [string, ...string[]]>(
  value: string | undefined,
  options: T,
): T[number] {
  return options.find((option) => option === value) ?? options[0];
}
