import { ApiError } from "../../../page-parts/browser/api-error.ts";
import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { go, nextAddress } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { signIn, signInAs, takeEnded } from "../session.ts";
import { t } from "../text.ts";

/** Signs in as a person, if the gateway knows people; or with the admin token. */
export function render({ root }: PageContext): void {
  const hasPeople = document.documentElement.dataset["people"] !== undefined;
  const ended = takeEnded() && notice("info", t("signin.expired"));
  const place = el("div", { class: "stack" });
  fill(root, authCard(t("signin.title"), t("signin.lead"), ended, place));
  if (hasPeople) showPerson(place, takeSecrets());
  else showToken(place, false);
}

function showPerson(place: HTMLElement, secrets: URLSearchParams): void {
  // A link fills the form in only with the demo's operator, so no link leads into the account of its sender.
  const { demo } = document.documentElement.dataset;
  const given = demo !== undefined && secrets.get("email") === demo ? secrets : undefined;
  const email = field(t("signin.email"), {
    type: "email",
    name: "email",
    autocomplete: "username",
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
    const typed = isAsked ? code.input.value : undefined;
    try {
      await signInAs(email.input.value.trim(), password.input.value, typed);
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
    place,
    form(t("signin.submit"), submit, email.element, password.element, second),
    other(t("signin.withtoken"), () => showToken(place, true)),
  );
  email.input.focus();
}

function showToken(place: HTMLElement, hasPeople: boolean): void {
  const token = field(
    t("signin.token"),
    { type: "password", name: "password", autocomplete: "current-password", required: true },
    t("signin.token.hint"),
  );
  const submit = async () => {
    await signIn(token.input.value.trim());
    go(nextAddress(), { replace: true });
  };
  const back = () => showPerson(place, new URLSearchParams());
  fill(
    place,
    form(t("signin.submit"), submit, token.element),
    hasPeople && other(t("signin.asperson"), back),
  );
  token.input.focus();
}

/** The field for a code of the second factor. */
function codeField() {
  return field(
    t("factor.code"),
    { autocomplete: "one-time-code", required: true, maxlength: 40, spellcheck: "false" },
    t("factor.code.hint"),
  );
}

function other(text: string, open: () => void): Child {
  return el("p", {}, el("button", { type: "button", class: "quiet small", onclick: open }, text));
}
