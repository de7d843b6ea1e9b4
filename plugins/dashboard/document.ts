import type { Services } from "../../core/plugin/index.ts";
import type { Route } from "./browser/routes.ts";
import { text as english } from "./browser/text-en.ts";
import { text as vietnamese } from "./browser/text-vi.ts";
import type { BrowserFile } from "./browser-files.ts";
import { escaped } from "./escaped.ts";
import type { Language, Theme } from "./preferences.ts";

export interface DocumentParts {
  readonly serviceName: string;
  readonly support: string | undefined;
  /** The e-mail of the demo account, with which a link may fill in the sign-in form; undefined if there is none. */
  readonly demo: string | undefined;
  /** Who can sign up: another page takes the place of the form while no one can. */
  readonly signUp: Services["customers"]["current"]["signUp"];
  /** Addresses of the texts that a sign-up asks to agree to. */
  readonly agreements: Services["customers"]["current"]["agreements"];
  /** URL path of the files: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly files: readonly BrowserFile[];
  readonly style: string;
  readonly language: Language;
  readonly theme: Theme;
  /** The page that the document is for; undefined if there is none at its address. */
  readonly page: Pick<Route, "path" | "title"> | undefined;
}

const TEXTS = { vi: vietnamese, en: english };

/** Returns the HTML document of a page. It has the page's title, and holds no customer data. */
export function documentFor(parts: DocumentParts): string {
  const { folder, files, style, language, theme, page } = parts;
  const text = TEXTS[language];
  const demo = parts.demo === undefined ? "" : ` data-demo="${escaped(parts.demo)}"`;
  const agreements = Object.entries(parts.agreements)
    .map(([kind, address]) => ` data-${kind}="${escaped(address)}"`)
    .join("");
  const title = escaped(text[page?.title ?? "notfound.title"]);
  const name = escaped(parts.serviceName);
  // The browser loads these scripts in parallel, and with the styles, instead of finding each through an import.
  const preloads = importedBy(
    ["main.js", `text-${language}.js`, ...(page ? [scriptOf(page)] : [])],
    files,
  ).map((name) => `<link rel="modulepreload" href="${folder}/${name}">`);
  return `<!doctype html>
<html lang="${language}" data-theme="${theme}" data-service="${name}" data-support="${escaped(parts.support ?? "")}" data-sign-up="${parts.signUp}"${demo}${agreements}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${name}</title>
${preloads.join("\n")}
<script type="module" src="${folder}/main.js"></script>
<style>${style}</style>
<link rel="icon" type="image/svg+xml" href="${folder}/icon.svg">
</head>
<body>
<div id="app" class="starting"><span class="brand"><img class="mark" src="${folder}/icon.svg" alt="" width="32" height="32">${name}</span>
<main id="main"><h1>${title}</h1><p class="waiting" role="status">${escaped(text.loading)}</p></main></div>
<noscript><p class="notice"><a href="/">${name}</a> ${escaped(text.noscript)}</p></noscript>
</body>
</html>
`;
}

/** Returns the script that renders a page: it has the name of its path. */
function scriptOf({ path }: Pick<Route, "path">): string {
  return `pages${path === "" ? "/overview" : path}.js`;
}

/** Returns these scripts and all their imports, direct and indirect. */
function importedBy(names: readonly string[], files: readonly BrowserFile[]): string[] {
  const found = new Set(names);
  for (const name of found) {
    const content = String(files.find((file) => file.name === name)?.content ?? "");
    for (const [, path = ""] of content.matchAll(/^(?:import|export)\b[^;"]*"(\.[^"]+)"/gm)) {
      found.add(new URL(path, `file:///${name}`).pathname.slice(1));
    }
  }
  return [...found].sort();
}
