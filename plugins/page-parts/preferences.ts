import { parseCookie } from "cookie";
import type { PlainRequest } from "../../core/plugin/index.ts";

/** The first language is the default. */
export const languages = ["vi", "en"] as const;
export type Language = (typeof languages)[number];

/** The first theme is the default. */
export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** The cookie in which a browser keeps the language that its user chose. */
export const LANGUAGE_COOKIE = "tollgate_language";

/** Returns the language that the visitor chose, else the one that the browser wants most. */
export function languageOf(headers: PlainRequest["headers"]): Language {
  const chosen = parseCookie(headers["cookie"] ?? "")[LANGUAGE_COOKIE];
  return choice(chosen ?? wantedLanguage(headers["accept-language"] ?? ""), languages);
}

/** Returns the theme that the visitor chose. */
export function themeOf(headers: PlainRequest["headers"]): Theme {
  return choice(parseCookie(headers["cookie"] ?? "")["tollgate_theme"], themes);
}

/** Returns the value if it is one of the options, otherwise the first option. */
function choice<const T extends readonly [string, ...string[]]>(
  value: string | undefined,
  options: T,
): T[number] {
  return options.find((option) => option === value) ?? options[0];
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
