import type { Dictionary, Text } from "./text-en.ts";

type Language = "vi" | "en";

const COOKIE = "tollgate_language";
const YEAR_S = 31_536_000;

let language: Language = "vi";
let dictionary: Partial<Dictionary> = {};

/** Loads the dictionary of a language, and speaks it from then on. */
export async function speak(wanted: Language): Promise<void> {
  dictionary =
    wanted === "en" ? (await import("./text-en.ts")).text : (await import("./text-vi.ts")).text;
  language = wanted;
  document.documentElement.lang = wanted;
}

/** Keeps the choice in this browser, so that the next page comes in it at once. */
export function rememberLanguage(chosen: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not there without https
  document.cookie = `${COOKIE}=${chosen}; path=/dashboard; max-age=${YEAR_S}; samesite=lax`;
}

export function currentLanguage(): Language {
  return language;
}

/** The text of a key in the language of the page; `{name}` in it takes the value of that name. */
export function t(key: Text, values: Readonly<Record<string, string | number>> = {}): string {
  const text = dictionary[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The same for a key that may not exist, such as the code of an error. */
export function textIfAny(key: string): string | undefined {
  return key in dictionary ? t(key as Text) : undefined;
}

/** All texts whose keys begin with a prefix, in their order, by the rest of the key. */
export function textsOf(prefix: string): readonly (readonly [name: string, text: string])[] {
  return Object.entries(dictionary)
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, text]) => [key.slice(prefix.length), text]);
}
