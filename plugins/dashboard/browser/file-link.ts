import { el } from "../../page-parts/browser/dom.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { orSayFailure } from "../../page-parts/browser/say-failure.ts";
import { addressOf, checkFile } from "./api.ts";

/**
 * A link that saves a file of the API, which `lead` names. Browsers do not show why a download is refused, so the page asks
 * first, and says it.
 */
export function fileLink(caption: string): {
  readonly element: HTMLAnchorElement;
  lead(path: string, query: Record<string, string>): void;
} {
  let check = async () => {};
  const element = el("a", { class: "button", download: "" }, icon("download"), caption);
  element.addEventListener("click", async (event) => {
    event.preventDefault();
    if (element.hasAttribute("aria-busy")) return;
    const { href } = element;
    element.setAttribute("aria-busy", "true");
    await orSayFailure(async () => {
      await check();
      el("a", { href, download: "" }).click();
    });
    element.removeAttribute("aria-busy");
  });
  return {
    element,
    lead(path, query) {
      element.href = addressOf(path, query);
      check = () => checkFile(path, query);
    },
  };
}
