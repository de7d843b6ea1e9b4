import { badge } from "../../page-parts/browser/badge.ts";
import type { Account, Key } from "./contract.ts";
import { t } from "./text.ts";

export function stateBadge(status: Account["status"] | Key["status"]): HTMLElement {
  return badge(status === "active" ? "good" : "bad", t(`state.${status}`));
}
