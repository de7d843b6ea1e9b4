import { el } from "../../page-parts/browser/dom.ts";
import { BASE } from "./base.ts";

/** A link to the page of a customer: with this text, or else his id. */
export function customerLink(id: string, text?: string | null): HTMLElement {
  return el("a", { href: `${BASE}/customers/${id}` }, text ?? id);
}
