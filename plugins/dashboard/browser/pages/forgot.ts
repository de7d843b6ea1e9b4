import { authCard } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { emailField } from "../../../page-parts/browser/email-field.ts";
import { form, notice } from "../../../page-parts/browser/form.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { post } from "../api.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  const email = emailField();
  const back = el("p", {}, el("a", { href: `${BASE}/sign-in` }, t("forgot.back")));
  const submit = async () => {
    const address = email.input.value;
    await post("/password/forgot", { email: address, language: currentLanguage() });
    const text = t("forgot.sent", { email: address });
    fill(root, authCard(t("forgot.title"), null, notice("good", text), back));
    root.focus();
  };
  const ask = form(t("forgot.submit"), submit, email.element);
  fill(root, authCard(t("forgot.title"), t("forgot.lead"), ask, back));
}
