import type { Page } from "playwright-core";

/**
 * Visible texts with a contrast below 4.5 to 1, or 3 to 1 if they are large (WCAG 2.2, 1.4.3).
 * Disabled controls are exempt, and images are not checked.
 */
export function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    type Colour = [red: number, green: number, blue: number, opacity: number];
    const colourOf = (text: string): Colour => {
      const [red = 0, green = 0, blue = 0, opacity = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
      return [red, green, blue, opacity];
    };
    const luminance = ([red, green, blue]: Colour) => {
      const part = (value: number) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
    };
    const behind = (element: Element): Colour => {
      for (let at: Element | null = element; at; at = at.parentElement) {
        const colour = colourOf(getComputedStyle(at).backgroundColor);
        if (colour[3] > 0.99) return colour;
      }
      return [255, 255, 255, 1];
    };
    const faint = new Set<string>();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent?.trim() ?? "";
      if (!element || text === "" || !element.checkVisibility()) continue;
      if (element.closest(":disabled, .hidden, option, noscript, .skip")) continue;
      const style = getComputedStyle(element);
      const [front, back] = [luminance(colourOf(style.color)), luminance(behind(element))];
      const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
      const size = Number.parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (isLarge ? 3 : 4.5)) faint.add(`${ratio.toFixed(2)} ${text.slice(0, 40)}`);
    }
    return [...faint];
  });
}

/** Links, buttons, fields and images without an accessible name. */
export function unnamedControls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const isNamed = (element: Element) => {
      if (element.getAttribute("aria-label")?.trim()) return true;
      if (element instanceof HTMLImageElement) return element.hasAttribute("alt");
      const isField =
        element instanceof HTMLInputElement ||
        element instanceof HTMLSelectElement ||
        element instanceof HTMLTextAreaElement;
      if (isField) return [...(element.labels ?? [])].some((label) => label.textContent?.trim());
      return (element.textContent ?? "").trim() !== "";
    };
    const all = document.querySelectorAll("a[href], button, input, select, textarea, img");
    return [...all]
      .filter((element) => element.checkVisibility() && !isNamed(element))
      .map((element) => element.outerHTML.slice(0, 120));
  });
}
