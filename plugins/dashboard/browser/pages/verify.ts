import { post } from "../api.ts";
import { authCard, takeToken } from "../auth-card.ts";
import { el, fill } from "../dom.ts";
import { failureText } from "../failure.ts";
import { notice } from "../form.ts";
import { BASE, type PageContext } from "../routes.ts";
import { currentAccount, loadAccount } from "../session.ts";
import { t } from "../text.ts";

export async function render({ root }: PageContext): Promise<void> {
  const token = takeToken();
  fill(root, authCard(t("verify.title"), t("verify.working")));
  try {
    await post("/verify", { token });
  } catch (error) {
    return fill(
      root,
      authCard(
        t("verify.title"),
        null,
        notice("bad", failureText(error)),
        el("p", { class: "hint" }, t("verify.failed.hint")),
        el("p", {}, el("a", { class: "button", href: BASE }, t("verify.goon"))),
      ),
    );
  }
  // Reloads the account of a signed-in customer, whose `email_verified` is now true.
  await loadAccount();
  const next = currentAccount() ? `${BASE}/keys` : `${BASE}/sign-in?next=${BASE}/keys`;
  fill(
    root,
    authCard(
      t("verify.done.title"),
      null,
      notice("good", t("verify.done.text")),
      el("p", {}, el("a", { class: "button primary", href: next }, t("verify.goon"))),
    ),
  );
}
