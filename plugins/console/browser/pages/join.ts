import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { type NewFactor, newFactor } from "../../../page-parts/browser/new-factor.ts";
import { go } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { codeField } from "../../../page-parts/browser/second-factor.ts";
import { BASE } from "../base.ts";
import { post, signIn, signOut } from "../session.ts";
import { t } from "../text.ts";

interface Opened extends NewFactor {
  readonly email: string;
}

interface Joined {
  readonly token: string;
  readonly recovery_codes: readonly string[];
}

/** Kept for a change of the language, which shows the page again: each request makes another secret. */
let link = "";
let opened: Promise<Opened> | undefined;
let joined: Joined | undefined;

/** The page of an invitation: a person sets the password and the second factor, and gets recovery codes. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const given = takeSecrets().get("token");
  if (given !== null) {
    link = given;
    opened = undefined;
    joined = undefined;
  }
  signOut();
  const place = el("div", { class: "stack" });
  fill(root, authCard(t("join.title"), t("join.lead"), place));
  if (joined) return showCodes(place, joined);
  try {
    opened ??= post<Opened>("/join", { token: link });
    const shown = await opened;
    if (!signal.aborted) showForm(place, shown);
  } catch (error) {
    opened = undefined;
    fill(place, notice("bad", failureText(error)));
  }
}

function showForm(place: HTMLElement, shown: Opened): void {
  const { email } = shown;
  const password = field(
    t("password.new"),
    { type: "password", autocomplete: "new-password", required: true, minlength: 10 },
    t("join.password.hint"),
  );
  const code = codeField(t("join.code.hint"));
  const name = el("input", {
    ...{ type: "email", autocomplete: "username", value: email, readonly: true, hidden: true },
    "aria-label": t("email"),
  });
  const submit = async () => {
    const given = { token: link, password: password.input.value, code: code.input.value };
    joined = await post<Joined>("/join/confirm", given);
    opened = undefined;
    showCodes(place, joined);
  };
  fill(
    place,
    el("p", {}, t("join.for"), " ", el("strong", {}, email)),
    form(t("join.submit"), submit, name, password.element, newFactor(shown), code.element),
  );
}

/** Recovery codes are shown only this once, in either language. */
function showCodes(place: HTMLElement, { token, recovery_codes: codes }: Joined): void {
  const text = codes.join("\n");
  const enter = async () => {
    await signIn(token);
    joined = undefined;
    go(BASE, { replace: true });
  };
  fill(
    place,
    notice("info", t("join.codes")),
    el("pre", { class: "secret", "data-codes": true }, text),
    el(
      "div",
      { class: "row end" },
      copyButton(t("join.codes.copy"), () => text),
    ),
    form(t("join.enter"), enter),
  );
}
