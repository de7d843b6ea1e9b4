import { post } from "../api.ts";
import { authCard, takeToken } from "../auth-card.ts";
import { el, fill } from "../dom.ts";
import { form, notice } from "../form.ts";
import { BASE, type PageContext } from "../routes.ts";
import { forgetAccount } from "../session.ts";
import { t } from "../text.ts";
import { newPassword } from "./sign-up.ts";

interface ActiveKey {
  readonly name: string;
  readonly prefix: string;
}

export async function render({ root }: PageContext): Promise<void> {
  const token = takeToken();
  const keys = await activeKeys(token);
  const password = newPassword(t("password.new"));
  const revoke = el("input", { type: "checkbox", name: "revoke-keys", checked: true });
  const submit = async () => {
    const { revoked_keys: revoked } = await post<{ revoked_keys: number }>("/password/reset", {
      token,
      password: password.input.value,
      revoke_keys: keys.length > 0 && revoke.checked,
    });
    // The reset ended every session, including this one.
    forgetAccount();
    fill(root, done(revoked));
    root.focus();
  };
  const set = form(
    t("reset.submit"),
    submit,
    password.element,
    keys.length > 0 && choiceOfKeys(keys, revoke),
  );
  fill(root, authCard(t("reset.title"), t("reset.lead"), set));
}

/** The keys that can be revoked. None if the link is not valid, which the form then says. */
async function activeKeys(token: string): Promise<readonly ActiveKey[]> {
  if (token === "") return [];
  try {
    return (await post<{ data: ActiveKey[] }>("/password/reset/keys", { token })).data;
  } catch {
    return [];
  }
}

function choiceOfKeys(keys: readonly ActiveKey[], revoke: HTMLInputElement): HTMLElement {
  const names = keys.map(({ name, prefix }) => `${name} (${prefix}…)`).join(", ");
  return el(
    "div",
    { class: "field" },
    el("label", { class: "tick" }, revoke, t("reset.keys", { count: String(keys.length) })),
    el("p", { class: "hint" }, t("reset.keys.hint", { names })),
  );
}

function done(revoked: number): HTMLElement {
  return authCard(
    t("reset.title"),
    null,
    notice("good", t("reset.done")),
    revoked > 0 && el("p", {}, t("reset.revoked", { count: String(revoked) })),
    el("p", {}, el("a", { class: "button primary", href: `${BASE}/sign-in` }, t("signin.title"))),
  );
}
