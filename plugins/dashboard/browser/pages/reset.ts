import { post } from "../api.ts";
import { authCard, takeToken } from "../auth-card.ts";
import { el, fill } from "../dom.ts";
import { form, notice } from "../form.ts";
import { BASE, type PageContext } from "../routes.ts";
import { forgetAccount } from "../session.ts";
import { t } from "../text.ts";
import { newPassword } from "./sign-up.ts";

export function render({ root }: PageContext): void {
  const token = takeToken();
  const password = newPassword(t("password.new"));
  const submit = async () => {
    await post("/password/reset", { token, password: password.input.value });
    // The reset ended every session, including this one.
    forgetAccount();
    fill(
      root,
      authCard(
        t("reset.title"),
        null,
        notice("good", t("reset.done")),
        el(
          "p",
          {},
          el("a", { class: "button primary", href: `${BASE}/sign-in` }, t("signin.title")),
        ),
      ),
    );
    root.focus();
  };
  const set = form(t("reset.submit"), submit, password.element);
  fill(root, authCard(t("reset.title"), t("reset.lead"), set));
}
