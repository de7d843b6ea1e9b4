import type { Dictionary, Text } from "./text-en.ts";

type Language = "vi" | "en";

const COOKIE = "tollgate_language";
const YEAR_S = 31_536_000;

let language: Language = "vi";
let dictionary: Partial<Dictionary> = {};

/** Loads the texts of a language and uses them from then on. */
export async function setLanguage(wanted: Language): Promise<void> {
  dictionary =
    wanted === "en" ? (await import("./text-en.ts")).text : (await import("./text-vi.ts")).text;
  language = wanted;
  document.documentElement.lang = wanted;
}

/** Stores the choice in a cookie, so that the server sends the next document in this language. */
export function rememberLanguage(chosen: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not there without https
  document.cookie = `${COOKIE}=${chosen}; path=/; max-age=${YEAR_S}; samesite=lax`;
}

export function currentLanguage(): Language {
  return language;
}

/**
 * Returns the text of a key in the language of the page. `values` replaces `{name}` in it, and chooses the first part of
 * `{name:call|calls}` for 1, the second for all else.
 */
export function t(key: Text, values: Readonly<Record<string, string | number>> = {}): string {
  const text = dictionary[key] ?? key;
  return text
    .replace(/\{(\w+):([^|}]*)\|([^}]*)\}/g, (_, name: string, one: string, many: string) =>
      String(values[name]) === "1" ? one : many,
    )
    .replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Returns the text of a key, such as the code of an error; undefined if there is no such key. */
export function textIfAny(key: string): string | undefined {
  return key in dictionary ? t(key as Text) : undefined;
}

/** Returns all texts whose key begins with a prefix, in order, each with the rest of its key. */
export function textsOf(prefix: string): readonly (readonly [name: string, text: string])[] {
  return Object.entries(dictionary)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, text]) => [key.slice(prefix.length), text]);
}
