import { type Child, el } from "./dom.ts";

/** A word or two about a state; without a kind it is neither good nor bad. */
export function badge(kind: "good" | "bad" | "info" | "", ...content: Child[]): HTMLElement {
  return el("span", { class: `badge ${kind}`.trim() }, content);
}
