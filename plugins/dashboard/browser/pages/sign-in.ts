import { authCard } from "../auth-card.ts";
import { el, fill } from "../dom.ts";
import { field, form } from "../form.ts";
import { go, nextAddress } from "../router.ts";
import { BASE, type PageContext } from "../routes.ts";
import { signIn } from "../session.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  const email = field(t("email"), {
    type: "email",
    name: "email",
    autocomplete: "username",
    inputmode: "email",
    required: true,
  });
  const password = field(t("password"), {
    type: "password",
    name: "password",
    autocomplete: "current-password",
    required: true,
  });
  const submit = async () => {
    await signIn(email.input.value, password.input.value);
    go(nextAddress(), { replace: true });
  };
  fill(
    root,
    authCard(
      t("signin.title"),
      t("signin.lead"),
      form(t("signin.submit"), submit, email.element, password.element),
      el(
        "p",
        { class: "row spread" },
        el("a", { href: `${BASE}/forgot` }, t("signin.forgot")),
        el("a", { href: `${BASE}/sign-up` }, t("signin.signup")),
      ),
    ),
  );
}
