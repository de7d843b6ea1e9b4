import { el } from "../../page-parts/browser/dom.ts";
import { BASE } from "./base.ts";

/** A link to the page of a customer, by his address if it is given. */
export function customerLink(id: string, text?: string | null): HTMLElement {
  return el("a", { href: `${BASE}/customers/${id}` }, text ?? id);
}
