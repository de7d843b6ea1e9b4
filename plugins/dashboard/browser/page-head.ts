import { type Child, el } from "./dom.ts";

/** The top of a page: its name, a sentence on it, and what one can do there first. */
export function pageHead(title: string, lead: Child, ...actions: Child[]): HTMLElement {
  return el(
    "div",
    { class: "page-head" },
    el("div", {}, el("h1", {}, title), el("p", { class: "lead" }, lead)),
    el("div", { class: "row" }, actions),
  );
}

/** A part of a page, under a heading of its own. */
export function card(title: Child, ...content: Child[]): HTMLElement {
  return el("section", { class: "card" }, title !== null && el("h2", {}, title), content);
}

/** Shown while an answer is on its way. */
export function waiting(text: string): HTMLElement {
  return el("p", { class: "waiting", role: "status" }, text);
}
