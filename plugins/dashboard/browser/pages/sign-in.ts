import { authCard } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { signInForm } from "../../../page-parts/browser/sign-in-form.ts";
import { BASE } from "../routes.ts";
import { signIn, takeExpired } from "../session.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  fill(
    root,
    authCard(
      t("signin.title"),
      t("signin.lead"),
      takeExpired() && notice("info", t("signin.expired")),
      signInForm(signIn),
      el(
        "p",
        { class: "row spread" },
        el("a", { href: `${BASE}/forgot` }, t("signin.forgot")),
        document.documentElement.dataset["signUp"] !== "closed" &&
          el("a", { href: `${BASE}/sign-up` }, t("signin.signup")),
      ),
    ),
  );
}
