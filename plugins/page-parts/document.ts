import type { Route } from "./browser/routes.ts";
import type { BrowserFile } from "./browser-files.ts";
import { escaped } from "./escaped.ts";
import type { Language, Theme } from "./preferences.ts";

export interface DocumentParts {
  readonly serviceName: string;
  /** The texts of the pages by their language. */
  readonly texts: Readonly<Record<Language, Readonly<Record<string, string>>>>;
  /** The address of the link that the name of the service is, without scripts. */
  readonly home: string;
  /** Attributes of the document, `data-NAME`, which its scripts read. */
  readonly data: Readonly<Record<string, string | undefined>>;
  /** URL path of the files: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly files: readonly BrowserFile[];
  readonly style: string;
  readonly language: Language;
  readonly theme: Theme;
  /** The page that the document is for; undefined if there is none at its address. */
  readonly page: Pick<Route, "path" | "title" | "access" | "icon"> | undefined;
}

/**
 * Returns the HTML document of a page. It has the page's title, and holds nothing that only some may see. If its scripts do not
 * come, it offers to load again.
 */
export function documentFor(parts: DocumentParts): string {
  const { folder, files, style, language, theme, page, home } = parts;
  const text = (key: string) => escaped(parts.texts[language][key] ?? key);
  const data = Object.entries(parts.data)
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => ` data-${name}="${escaped(value)}"`)
    .join("");
  const title = text(page?.title ?? "notfound.title");
  const name = escaped(parts.serviceName);
  // The browser loads these scripts in parallel, and with the styles, instead of finding each through an import.
  const preloads = importedBy(
    ["main.js", `text-${language}.js`, ...(page ? [scriptOf(page)] : [])],
    files,
  ).map((name) => `<link rel="modulepreload" href="${folder}/${name}">`);
  // A link would lose the fragment, which holds the secret of a mailed link. Pages outside of the menu take one.
  const mayHaveSecret = page && page.access !== undefined && !page.icon;
  const again = mayHaveSecret ? text("retry.reload") : `<a href="">${text("retry")}</a>`;
  return `<!doctype html>
<html lang="${language}" data-theme="${theme}" data-service="${name}"${data}>
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
<main id="main"><h1>${title}</h1>
<div class="waiting" role="status"><span class="hidden">${text("loading")}</span><p class="slow">${text("slow")} ${again}</p></div></main></div>
<noscript><p class="notice"><a href="${home}">${name}</a> ${text("noscript")}</p></noscript>
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
