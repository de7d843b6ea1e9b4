import { ApiError } from "../../../page-parts/browser/api-error.ts";
import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { go, nextAddress } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../routes.ts";
import { codeField } from "../second-factor.ts";
import { signIn, takeExpired } from "../session.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  const given = demoAccount(takeSecrets());
  const email = field(t("email"), {
    type: "email",
    name: "email",
    autocomplete: "username",
    inputmode: "email",
    required: true,
    value: given?.get("email") ?? null,
  });
  const password = field(t("password"), {
    type: "password",
    name: "password",
    autocomplete: "current-password",
    required: true,
    value: given?.get("password") ?? null,
  });
  const code = codeField();
  const second = el("div");
  const submit = async () => {
    const isAsked = second.childElementCount > 0;
    try {
      await signIn(email.input.value, password.input.value, isAsked ? code.input.value : undefined);
    } catch (error) {
      const isNeeded = error instanceof ApiError && error.code === "second_factor_required";
      if (isAsked || !isNeeded) throw error;
      fill(second, code.element);
      code.input.focus();
      return;
    }
    go(nextAddress(), { replace: true });
  };
  fill(
    root,
    authCard(
      t("signin.title"),
      t("signin.lead"),
      takeExpired() && notice("info", t("signin.expired")),
      form(t("signin.submit"), submit, email.element, password.element, second),
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

/** A link fills the form in only with the demo account: any other could lead customers into the account of its sender. */
function demoAccount(given: URLSearchParams): URLSearchParams | undefined {
  const { demo } = document.documentElement.dataset;
  return demo !== undefined && given.get("email") === demo ? given : undefined;
}
