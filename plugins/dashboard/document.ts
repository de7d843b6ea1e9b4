import type { BrowserFile } from "./browser-files.ts";

/** The first is for those who have not chosen. */
export const languages = ["vi", "en"] as const;
export const themes = ["auto", "light", "dark"] as const;

interface DocumentParts {
  readonly serviceName: string;
  /** Where its files are: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly files: readonly BrowserFile[];
  readonly language: (typeof languages)[number];
  readonly theme: (typeof themes)[number];
}

const NO_SCRIPT = {
  vi: "Trang này cần JavaScript. Hãy bật JavaScript trong trình duyệt rồi tải lại trang.",
  en: "This page needs JavaScript. Switch it on in your browser and load the page again.",
};

/** The one document of the dashboard. It holds nothing of any customer's. */
export function documentFor(parts: DocumentParts): string {
  const { folder, files, language, theme } = parts;
  const name = escaped(parts.serviceName);
  // All that every page needs is asked for at once, and not one import after the other.
  const preloads = importedBy(["main.js", `text-${language}.js`], files).map(
    (name) => `<link rel="modulepreload" href="${folder}/${name}">`,
  );
  return `<!doctype html>
<html lang="${language}" data-theme="${theme}" data-service="${name}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="stylesheet" href="${folder}/style.css">
<link rel="icon" type="image/svg+xml" href="${folder}/icon.svg">
${preloads.join("\n")}
<script type="module" src="${folder}/main.js"></script>
</head>
<body>
<div id="app"></div>
<noscript><p class="notice">${NO_SCRIPT[language]}</p></noscript>
</body>
</html>
`;
}

/** These scripts and all that they import, however far away. */
function importedBy(names: readonly string[], files: readonly BrowserFile[]): string[] {
  const found = new Set(names);
  for (const name of found) {
    const content = files.find((file) => file.name === name)?.content ?? "";
    for (const [, path = ""] of content.matchAll(/^(?:import|export)\b[^;"]*"(\.[^"]+)"/gm)) {
      found.add(new URL(path, `file:///${name}`).pathname.slice(1));
    }
  }
  return [...found].sort();
}

function escaped(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
  };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? "");
}
