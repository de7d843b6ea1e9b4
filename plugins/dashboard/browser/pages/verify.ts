import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { show } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../routes.ts";
import { currentAccount, verifyAddress } from "../session.ts";
import { t } from "../text.ts";

/** The token of the link, for as long as the page may be shown again, such as in another language. */
let token = "";

/** Asks for the password of the sign-up: a stranger may have signed up with the reader's address. */
export function render({ root }: PageContext): void {
  token = takeSecrets().get("token") ?? token;
  if (token === "" && currentAccount()?.email_verified) {
    fill(root, verified());
    return;
  }
  const password = field(t("password"), {
    type: "password",
    name: "password",
    autocomplete: "current-password",
    required: true,
  });
  const submit = async () => {
    await verifyAddress(token, password.input.value);
    token = "";
    // Draws the menu of a customer, and this page again without its token.
    await show();
  };
  fill(
    root,
    authCard(
      t("verify.title"),
      t("verify.lead"),
      form(t("verify.submit"), submit, password.element),
      el("p", { class: "hint" }, t("verify.stranger")),
      el("p", {}, el("a", { href: `${BASE}/forgot` }, t("verify.own"))),
    ),
  );
}

function verified(): HTMLElement {
  return authCard(
    t("verify.done.title"),
    null,
    notice("good", t("verify.done.text")),
    el("p", {}, el("a", { class: "button primary", href: `${BASE}/keys` }, t("verify.goon"))),
  );
}
