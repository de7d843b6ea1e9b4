import { toast } from "../announce.ts";
import { post } from "../api.ts";
import { authCard } from "../auth-card.ts";
import { el, fill } from "../dom.ts";
import { failureText } from "../failure.ts";
import { field, form, newPassword, notice } from "../form.ts";
import { BASE, type PageContext } from "../routes.ts";
import { currentLanguage, t } from "../text.ts";

export function render({ root }: PageContext): void {
  const email = field(t("email"), {
    type: "email",
    name: "email",
    autocomplete: "username",
    inputmode: "email",
    required: true,
  });
  const password = newPassword();
  const submit = async () => {
    const address = email.input.value;
    await post("/sign-up", {
      email: address,
      password: password.input.value,
      language: currentLanguage(),
    });
    fill(root, sent(address));
    root.focus();
  };
  fill(
    root,
    authCard(
      t("signup.title"),
      t("signup.lead"),
      form(t("signup.submit"), submit, email.element, password.element),
      el("p", {}, t("signup.known"), " ", el("a", { href: `${BASE}/sign-in` }, t("signin.title"))),
    ),
  );
}

/**
 * Shows the same page if the address already has an account, so that the page does not reveal which
 * do.
 */
function sent(email: string): HTMLElement {
  const resend = async () => {
    try {
      await post("/verification/resend", { email });
      toast(t("verification.resent"));
    } catch (error) {
      toast(failureText(error));
    }
  };
  return authCard(
    t("signup.sent.title"),
    null,
    notice("good", t("signup.sent.text", { email })),
    el("p", { class: "hint" }, t("signup.sent.hint")),
    el(
      "p",
      { class: "row" },
      el("a", { class: "button primary", href: `${BASE}/sign-in` }, t("signin.title")),
      el("button", { type: "button", onclick: resend }, t("verification.resend")),
    ),
  );
}
