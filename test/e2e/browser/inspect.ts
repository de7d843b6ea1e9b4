import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The parts of axe that are used here: https://github.com/dequelabs/axe-core/blob/develop/doc/API.md */
interface Axe {
  run(options: { readonly resultTypes: readonly string[] }): Promise<{
    readonly passes: readonly unknown[];
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }[];
  }>;
}

/** Returns what axe finds on the page with all of its rules, of any impact: contrast, names, landmarks, order of headings. */
export async function findings(page: Page): Promise<string[]> {
  const isThere = await page.evaluate(() => "axe" in globalThis);
  if (!isThere) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: Axe };
    const { passes, violations } = await axe.run({ resultTypes: ["violations"] });
    if (passes.length < 10) throw new Error(`axe checked only ${passes.length} rules`);
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) =>
          `${id} (${impact}): ${html.slice(0, 120)} ${failureSummary.slice(0, 160)}`,
      ),
    );
  });
}

/** Returns how much the page has moved by itself: the sum of its layout shifts, 0.1 of which readers notice. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        const add = (list: PerformanceObserverEntryList) => {
          for (const entry of list.getEntries()) {
            if ("value" in entry && "hadRecentInput" in entry && !entry.hadRecentInput)
              sum += Number(entry.value);
          }
        };
        new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
        // The buffered entries come before the second frame.
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
      }),
  );
}

/** Opens all that is folded, and returns the parts that reach past the right edge of their card, unless they scroll. */
export function sticksOut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const folded = [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")];
    for (const details of folded) details.open = true;
    const found = [...document.querySelectorAll("main .card")].flatMap((card) => {
      const edge = card.getBoundingClientRect().right;
      return [...card.querySelectorAll(":not(pre *, .scroll *, .hidden)")]
        .filter((part) => part.getBoundingClientRect().right > edge)
        .map((part) => `${part.tagName} ${part.className}: ${part.textContent?.slice(0, 60)}`);
    });
    for (const details of folded) details.open = false;
    return found;
  });
}
