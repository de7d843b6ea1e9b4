/** One letter of each of its files. */
const LETTERS = "aế";
const FONT = "1rem Manrope";
/** On a line this fast the font is there before the first page. */
const FAST_MS = 200;
const WAIT_MS = 100;

/** Waits a moment for the font, unless the line is so slow that all else would wait for its 33 KB. */
export async function awaitFont(): Promise<void> {
  const [document] = performance.getEntriesByType("navigation");
  const isFast = document instanceof PerformanceNavigationTiming && document.responseEnd < FAST_MS;
  if (!isFast) return;
  await Promise.race([loadFont(), new Promise((resolve) => setTimeout(resolve, WAIT_MS))]);
}

/** Loads the font, for pages that are shown later. */
export async function loadFont(): Promise<void> {
  // Pages do without it.
  await document.fonts.load(FONT, LETTERS).catch(() => {});
}

/** Shows the next page in the font if it is there. A page that is shown never changes its font: it would jump. */
export function useFontIfLoaded(): void {
  if (document.fonts.check(FONT, LETTERS)) document.documentElement.dataset["font"] = "own";
}
