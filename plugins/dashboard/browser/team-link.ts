import { el } from "../../page-parts/browser/dom.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { BASE } from "./routes.ts";
import { currentTeam } from "./team.ts";
import { t } from "./text.ts";

/** Whose wallet is in use, as a link to the page that switches it, instead of the balance. */
export function teamLink(): HTMLElement {
  const { ownerEmail } = currentTeam() ?? { ownerEmail: "" };
  return el(
    "a",
    { class: "wallet", href: `${BASE}/team`, title: ownerEmail },
    el(
      "span",
      { class: "wallet-amount" },
      el("span", { class: "hint" }, t("team.wallet")),
      el("strong", { class: "team-owner" }, ownerEmail),
    ),
    el("span", { class: "wallet-action" }, icon("team"), t("team.switch")),
  );
}
