import { toast } from "../../../page-parts/browser/announce.ts";
import { authCard } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { emailField } from "../../../page-parts/browser/email-field.ts";
import { type Field, field, form, notice } from "../../../page-parts/browser/form.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { orSayFailure } from "../../../page-parts/browser/say-failure.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { post } from "../api.ts";
import { newPassword } from "../new-password.ts";
import { BASE } from "../routes.ts";
import { supportLine } from "../support-line.ts";
import { t } from "../text.ts";

export function render({ root }: PageContext): void {
  if (document.documentElement.dataset["signUp"] === "closed") {
    fill(root, closed());
    return;
  }
  const email = emailField();
  const password = newPassword();
  const invitation = invitationField();
  const agreement = agreementField();
  const submit = async () => {
    const address = email.input.value;
    await post("/sign-up", {
      email: address,
      password: password.input.value,
      language: currentLanguage(),
      ...(invitation && { code: invitation.input.value }),
      ...(agreement && { agreed: agreement.input.checked }),
    });
    fill(root, sent(address));
    root.focus();
  };
  fill(
    root,
    authCard(
      t("signup.title"),
      t("signup.lead"),
      form(
        t("signup.submit"),
        submit,
        invitation?.element,
        email.element,
        password.element,
        agreement?.element,
      ),
      known(),
    ),
  );
}

/** Says that no one can sign up, before anyone fills a form in. */
function closed(): HTMLElement {
  return authCard(
    t("signup.closed.title"),
    t("error.sign_up_closed"),
    supportLine(t("signup.closed.support")),
    known(),
  );
}

function known(): HTMLElement {
  const link = el("a", { href: `${BASE}/sign-in` }, t("signin.title"));
  return el("p", {}, t("signup.known"), " ", link);
}

/** The code of an invitation, filled in by its link; undefined if a sign-up needs none. */
function invitationField(): Field | undefined {
  if (document.documentElement.dataset["signUp"] !== "invited") return undefined;
  return field(t("signup.code"), {
    name: "code",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    maxlength: 40,
    required: true,
    value: new URLSearchParams(location.search).get("code"),
  });
}

/** A box to tick for the operator's terms and privacy policy; undefined if the operator has none. */
function agreementField(): Field | undefined {
  const { terms, privacy } = document.documentElement.dataset;
  const links = [
    terms !== undefined && link(terms, t("signup.terms")),
    privacy !== undefined && link(privacy, t("signup.privacy")),
  ].filter((one) => one !== false);
  if (links.length === 0) return undefined;
  const input = el("input", { type: "checkbox", name: "agreed", required: true });
  const named = links.flatMap((one, n) => (n === 0 ? [one] : [t("signup.and"), one]));
  return {
    element: el("label", { class: "tick" }, input, el("span", {}, t("signup.agree"), named)),
    input,
  };
}

function link(href: string, text: string): HTMLElement {
  return el("a", { href, target: "_blank", rel: "noopener" }, text);
}

/**
 * Shows the same page if the address already has an account, so that the page does not reveal which
 * do.
 */
function sent(email: string): HTMLElement {
  const resend = () =>
    orSayFailure(async () => {
      await post("/verification/resend", { email });
      toast(t("verification.resent"));
    });
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
