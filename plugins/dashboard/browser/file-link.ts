import { toast } from "../../page-parts/browser/announce.ts";
import { el } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { addressOf, checkFile } from "./api.ts";

/**
 * A link that saves a file of the API, which `lead` names. Browsers do not show why a download is refused, so the page asks
 * first, and says it.
 */
export function fileLink(
  caption: string,
  look = "button",
): {
  readonly element: HTMLAnchorElement;
  lead(path: string, query: Record<string, string>): void;
} {
  let check = async () => {};
  const element = el("a", { class: look, download: "" }, icon("download"), caption);
  element.addEventListener("click", async (event) => {
    event.preventDefault();
    if (element.hasAttribute("aria-busy")) return;
    const { href } = element;
    element.setAttribute("aria-busy", "true");
    try {
      await check();
      el("a", { href, download: "" }).click();
    } catch (error) {
      toast(failureText(error));
    } finally {
      element.removeAttribute("aria-busy");
    }
  });
  return {
    element,
    lead(path, query) {
      element.href = addressOf(path, query);
      check = () => checkFile(path, query);
    },
  };
}
