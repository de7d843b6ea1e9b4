import { authCard } from "../../page-parts/browser/auth-card.ts";
import { fill } from "../../page-parts/browser/dom.ts";
import { form } from "../../page-parts/browser/form.ts";
import { showBare } from "../../page-parts/browser/shell.ts";
import { BASE } from "./routes.ts";
import { signOut } from "./session.ts";
import { supportLine } from "./support-line.ts";
import { t } from "./text.ts";

/** Shows a suspended customer whom to ask, and how to leave, instead of a page. */
export function showSuspended(): void {
  const leave = async () => {
    await signOut();
    // A full load, as the router has not started if the account was suspended before.
    location.assign(`${BASE}/sign-in`);
  };
  const root = showBare(BASE);
  document.title = `${t("suspended.title")} · ${document.documentElement.dataset["service"] ?? ""}`;
  fill(
    root,
    authCard(
      t("suspended.title"),
      t("suspended.text"),
      supportLine(t("suspended.support")),
      form(t("signout"), leave),
    ),
  );
  root.focus();
}
