import { el } from "../../page-parts/browser/dom.ts";
import { canTopUp } from "./plugins.ts";
import { BASE } from "./routes.ts";
import { currentTeam } from "./team.ts";
import { t } from "./text.ts";

/** The text and the link for a call that got 402. */
interface Advice {
  readonly text: string;
  /** Leads to the page that helps; undefined if the customer has none. */
  readonly link?: HTMLElement;
}

/**
 * Returns what a customer can do about a call that got 402. `code`: of its refusal, which says if a budget or the balance is
 * used up. A member cannot top up: a team's wallet has no page for that.
 */
export function adviceOnMoney(code: string | null): Advice {
  if (code === "key_budget_exceeded") {
    return { text: t("error.key_budget_exceeded"), link: linkTo("/keys", t("nav.keys")) };
  }
  if (code === "member_budget_exceeded") return { text: t("error.member_budget_exceeded") };
  if (currentTeam()) return { text: t("team.nobalance") };
  return {
    text: t("error.402"),
    ...(canTopUp() && { link: linkTo("/top-up", t("topup.action"), "button primary small") }),
  };
}

function linkTo(path: string, text: string, kind = "button small"): HTMLElement {
  return el("a", { class: kind, href: BASE + path }, text);
}
