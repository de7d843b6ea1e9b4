import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { show } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../routes.ts";
import { currentAccount, verifyAddress } from "../session.ts";
import { invitedBy } from "../team-members.ts";
import { t } from "../text.ts";

/** The token of the link, for as long as the page may be shown again, such as in another language. */
let token = "";

/** Asks for the password of the sign-up: a stranger may have signed up with the reader's address. */
export async function render({ root, signal }: PageContext): Promise<void> {
  token = takeSecrets().get("token") ?? token;
  if (token === "" && currentAccount()?.email_verified) {
    const owners = await invitedBy();
    if (!signal.aborted) fill(root, verified(owners));
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

/** `owners`: those who have invited the reader to their teams. */
function verified(owners: readonly string[]): HTMLElement {
  const button = (path: string, text: string) =>
    el("p", {}, el("a", { class: "button primary", href: BASE + path }, text));
  return authCard(
    t("verify.done.title"),
    null,
    notice("good", t("verify.done.text")),
    owners.length > 0
      ? owners.map((email) => button("/team", t("team.join.label", { email })))
      : button("/keys", t("verify.goon")),
  );
}
