export const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const COOKIE = "tollgate_theme";
const YEAR_S = 31_536_000;
const listeners = new Set<() => void>();

export function currentTheme(): Theme {
  const given = document.documentElement.dataset["theme"];
  return themes.find((theme) => theme === given) ?? "auto";
}

/**
 * Stores the theme in a cookie, so that the server sends the document in it and no page flashes in
 * other colours.
 */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie store is not there without https
  document.cookie = `${COOKIE}=${theme}; path=/; max-age=${YEAR_S}; samesite=lax`;
  for (const listener of listeners) listener();
}

/**
 * Calls `listener` when the colours change, for canvas drawings. Returns a function that removes
 * the listener.
 */
export function whenColoursChange(listener: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", listener);
  listeners.add(listener);
  return () => {
    system.removeEventListener("change", listener);
    listeners.delete(listener);
  };
}
