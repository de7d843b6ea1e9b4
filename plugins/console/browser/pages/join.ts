import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { go } from "../../../page-parts/browser/router.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { post, signIn, signOut } from "../session.ts";
import { t } from "../text.ts";

interface Opened {
  readonly email: string;
  readonly secret: string;
  readonly uri: string;
  readonly qr_svg: string;
}

interface Joined {
  readonly token: string;
  readonly recovery_codes: readonly string[];
}

let link = "";

/** The page of an invitation: a person sets the password and the second factor, and gets recovery codes. */
export async function render({ root, signal }: PageContext): Promise<void> {
  // Kept for a change of the language, which shows the page again.
  link = takeSecrets().get("token") ?? link;
  signOut();
  const place = el("div", { class: "stack" });
  fill(root, authCard(t("join.title"), t("join.lead"), place));
  try {
    const opened = await post<Opened>("/join", { token: link });
    if (!signal.aborted) showForm(place, opened);
  } catch (error) {
    fill(place, notice("bad", failureText(error)));
  }
}

function showForm(place: HTMLElement, { email, secret, uri, qr_svg: svg }: Opened): void {
  const password = field(
    t("join.password"),
    { type: "password", autocomplete: "new-password", required: true, minlength: 10 },
    t("join.password.hint"),
  );
  const code = field(
    t("factor.code"),
    { autocomplete: "one-time-code", inputmode: "numeric", required: true, maxlength: 7 },
    t("join.code.hint"),
  );
  const name = el("input", {
    ...{ type: "email", autocomplete: "username", value: email, readonly: true, hidden: true },
    "aria-label": t("signin.email"),
  });
  const submit = async () => {
    const given = { token: link, password: password.input.value, code: code.input.value };
    const joined = await post<Joined>("/join/confirm", given);
    showCodes(place, joined);
  };
  fill(
    place,
    el("p", {}, t("join.for"), " ", el("strong", {}, email)),
    form(
      t("join.submit"),
      submit,
      name,
      password.element,
      el("p", {}, t("factor.scan")),
      el(
        "div",
        { class: "qr-frame" },
        // The browser runs no script of an SVG in an <img>.
        el("img", {
          class: "qr",
          alt: t("factor.qr.alt"),
          width: 220,
          height: 220,
          src: `data:image/svg+xml,${encodeURIComponent(svg)}`,
        }),
      ),
      el("p", { class: "hint" }, t("factor.byhand"), " ", el("a", { href: uri }, t("factor.open"))),
      el("code", { class: "secret", "data-secret": true }, secret.replace(/.{4}(?=.)/g, "$& ")),
      code.element,
    ),
  );
}

/** Recovery codes are shown only this once. */
function showCodes(place: HTMLElement, { token, recovery_codes: codes }: Joined): void {
  const text = codes.join("\n");
  const enter = async () => {
    await signIn(token);
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
