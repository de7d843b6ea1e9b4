import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { go, nextAddress } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { signIn, takeEnded } from "../session.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  const token = field(
    t("signin.token"),
    { type: "password", name: "password", autocomplete: "current-password", required: true },
    t("signin.token.hint"),
  );
  const submit = async () => {
    await signIn(token.input.value.trim());
    go(nextAddress(), { replace: true });
  };
  fill(
    root,
    el(
      "div",
      { class: "auth" },
      el(
        "section",
        { class: "card" },
        el("h1", {}, t("signin.title")),
        el("p", { class: "lead" }, t("signin.lead")),
        takeEnded() && notice("info", t("signin.expired")),
        form(t("signin.submit"), submit, token.element),
      ),
    ),
  );
  token.input.focus();
}
