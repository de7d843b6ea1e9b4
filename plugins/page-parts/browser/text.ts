import type { Decimal } from "./csv.ts";
import type { text } from "./text-en.ts";

/** The key of a text that the parts of all pages show. The pages of each plugin have more. */
export type SharedText = keyof typeof text;
export type Language = "vi" | "en";
export type Values = Readonly<Record<string, string | number>>;

const COOKIE = "tollgate_language";
const YEAR_S = 31_536_000;

let language: Language = "vi";
let dictionary: Readonly<Record<string, string>> = {};

/** Uses these texts of a language from then on. They include the shared ones. */
export function useTexts(chosen: Language, texts: Readonly<Record<string, string>>): void {
  dictionary = texts;
  language = chosen;
  document.documentElement.lang = chosen;
}

/** Stores the choice in a cookie, so that the server sends the next document in this language. */
export function rememberLanguage(chosen: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not there without https
  document.cookie = `${COOKIE}=${chosen}; path=/; max-age=${YEAR_S}; samesite=lax`;
}

export function currentLanguage(): Language {
  return language;
}

/** Returns the decimal mark of files for spreadsheets in the language of the page. */
export function decimalMark(): Decimal {
  return language === "vi" ? "comma" : "point";
}

/**
 * Returns the text of a key in the language of the page. `values` replaces `{name}` in it, and chooses the first part of
 * `{name:call|calls}` for 1, the second for all else. Pages use a `t` of their own, which knows all of their keys.
 */
export function t(key: SharedText, values: Values = {}): string {
  return textOf(key, values);
}

/** As `t`, of any key. A missing text is its key. */
export function textOf(key: string, values: Values = {}): string {
  const text = dictionary[key] ?? key;
  return text
    .replace(/\{(\w+):([^|}]*)\|([^}]*)\}/g, (_, name: string, one: string, many: string) =>
      String(values[name]) === "1" ? one : many,
    )
    .replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Returns the text of a key, such as the code of an error; undefined if there is no such key. */
export function textIfAny(key: string): string | undefined {
  return key in dictionary ? textOf(key) : undefined;
}

/** Returns all texts whose key begins with a prefix, in order, each with the rest of its key. */
export function textsOf(prefix: string): readonly (readonly [name: string, text: string])[] {
  return Object.entries(dictionary)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, text]) => [key.slice(prefix.length), text]);
}
