import { type Child, el } from "./dom.ts";

/** The top of a page: its title, a lead sentence and its main actions. */
export function pageHead(title: string, lead: Child, ...actions: Child[]): HTMLElement {
  return el(
    "div",
    { class: "page-head" },
    el("div", {}, el("h1", {}, title), el("p", { class: "lead" }, lead)),
    el("div", { class: "row" }, actions),
  );
}

/** A section of a page with its own heading. */
export function card(title: Child, ...content: Child[]): HTMLElement {
  return el("section", { class: "card" }, title !== null && el("h2", {}, title), content);
}

/** A status line for the time until a reply arrives. */
export function waiting(text: string): HTMLElement {
  return el("p", { class: "waiting", role: "status" }, text);
}
