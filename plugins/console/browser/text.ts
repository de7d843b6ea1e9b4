import { onDemand } from "../../page-parts/browser/on-demand.ts";
import { type Language, textOf, useTexts, type Values } from "../../page-parts/browser/text.ts";
import type { Text } from "./text-en.ts";

/** Loads the texts of a language and uses them from then on. */
export async function setLanguage(wanted: Language): Promise<void> {
  const { text } = await onDemand(
    wanted === "en" ? import("./text-en.ts") : import("./text-vi.ts"),
  );
  useTexts(wanted, text);
}

/** Returns the text of a key: see `textOf`. The compiler finds a key that no text has. */
export function t(key: Text, values?: Values): string {
  return textOf(key, values);
}
