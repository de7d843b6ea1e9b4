import { el } from "../../page-parts/browser/dom.ts";
import type { Account, Key } from "./contract.ts";
import { t } from "./text.ts";

export function stateBadge(status: Account["status"] | Key["status"]): HTMLElement {
  return badge(status === "active" ? "good" : "bad", t(`state.${status}`));
}

export function badge(kind: "good" | "bad" | "info", text: string): HTMLElement {
  return el("span", { class: `badge ${kind}` }, text);
}
