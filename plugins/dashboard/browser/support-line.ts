import { el } from "../../page-parts/browser/dom.ts";

/** A line with the operator's address for questions; undefined if the operator has none. */
export function supportLine(lead: string): HTMLElement | undefined {
  const support = document.documentElement.dataset["support"] ?? "";
  if (support === "") return undefined;
  const isAddress = /^https?:\/\//.test(support);
  const href = isAddress ? support : support.includes("@") ? `mailto:${support}` : undefined;
  const link = href === undefined ? el("strong", {}, support) : el("a", { href }, support);
  return el("p", {}, lead, " ", link);
}
