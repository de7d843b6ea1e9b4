import { authCard } from "../../../page-parts/browser/auth-card.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { go, nextAddress } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { signInForm } from "../../../page-parts/browser/sign-in-form.ts";
import { signIn, signInAs, takeEnded } from "../session.ts";
import { t } from "../text.ts";

/** Signs in as a person, if the gateway knows people; or with the admin token. */
export function render({ root }: PageContext): void {
  const hasPeople = document.documentElement.dataset["people"] !== undefined;
  const ended = takeEnded() && notice("info", t("signin.expired"));
  const place = el("div", { class: "stack" });
  fill(root, authCard(t("signin.title"), t("signin.lead"), ended, place));
  if (hasPeople) showPerson(place);
  else showToken(place, false);
}

function showPerson(place: HTMLElement): void {
  const person = signInForm(signInAs);
  fill(
    place,
    person,
    other(t("signin.withtoken"), () => showToken(place, true)),
  );
  person.querySelector("input")?.focus();
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
  fill(
    place,
    form(t("signin.submit"), submit, token.element),
    hasPeople && other(t("signin.asperson"), () => showPerson(place)),
  );
  token.input.focus();
}

function other(text: string, open: () => void): Child {
  return el("p", {}, el("button", { type: "button", class: "quiet small", onclick: open }, text));
}
