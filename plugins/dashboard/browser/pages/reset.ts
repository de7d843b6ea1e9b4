import { ApiError } from "../../../page-parts/browser/api-error.ts";
import { authCard, takeSecrets } from "../../../page-parts/browser/auth-card.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { form, notice } from "../../../page-parts/browser/form.ts";
import { ago } from "../../../page-parts/browser/format.ts";
import { waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { currentLanguage } from "../../../page-parts/browser/text.ts";
import { post } from "../api.ts";
import { newPassword } from "../new-password.ts";
import { BASE } from "../routes.ts";
import { forgetAccount } from "../session.ts";
import { t } from "../text.ts";

interface ActiveKey {
  readonly name: string;
  readonly prefix: string;
  readonly last_used_at: string | null;
  /** The owner of the team in which it is the reader's; null if it is of his own wallet. */
  readonly team: string | null;
  /** True if a member of the reader's team uses it. */
  readonly of_member: boolean;
}

/** The token of the link, for as long as the page may be shown again: in another language, or after a failure. */
let token = "";

export async function render({ root, signal }: PageContext): Promise<void> {
  token = takeSecrets().get("token") ?? token;
  fill(root, waiting());
  const keys = await activeKeys();
  if (signal.aborted) return;
  if (!keys) {
    fill(root, usedLink());
    return;
  }
  const password = newPassword(t("password.new"));
  const choices = choiceOfKeys(keys);
  const submit = async () => {
    const { revoked_keys: revoked } = await post<{ revoked_keys: number }>("/password/reset", {
      token,
      password: password.input.value,
      language: currentLanguage(),
      revoke_keys: choices.isRevoking(),
    });
    token = "";
    // The reset ended every session, including this one.
    forgetAccount();
    fill(root, done(revoked));
    root.focus();
  };
  const set = form(t("reset.submit"), submit, password.element, keys.length > 0 && choices.element);
  fill(root, authCard(t("reset.title"), t("reset.lead"), set));
}

/** Returns the keys that can be revoked; undefined if the link is not valid any more. */
async function activeKeys(): Promise<readonly ActiveKey[] | undefined> {
  if (token === "") return undefined;
  try {
    return (await post<{ data: ActiveKey[] }>("/password/reset/keys", { token })).data;
  } catch (error) {
    if (error instanceof ApiError && error.code === "invalid_token") return undefined;
    throw error;
  }
}

function usedLink(): HTMLElement {
  return authCard(
    t("reset.title"),
    null,
    notice("info", t("error.invalid_token")),
    el("p", {}, el("a", { class: "button primary", href: `${BASE}/forgot` }, t("reset.again"))),
  );
}

/** Two choices, and none is made: one ends a leak, the other keeps servers running. */
function choiceOfKeys(keys: readonly ActiveKey[]) {
  const option = (value: string) =>
    el("input", { type: "radio", name: "keys", value, required: true });
  const [keep, revoke] = [option("keep"), option("revoke")];
  const element = el(
    "fieldset",
    { class: "field" },
    el("legend", {}, t("reset.keys")),
    el("label", { class: "tick" }, keep, t("reset.keep")),
    el("label", { class: "tick" }, revoke, t("reset.revoke", { count: keys.length })),
    el(
      "ul",
      { class: "hint" },
      keys.map((key) => el("li", {}, keyText(key))),
    ),
  );
  return { element, isRevoking: () => revoke.checked };
}

function keyText({ name, prefix, last_used_at: at, team, of_member }: ActiveKey): string {
  const use = at === null ? t("keys.neverused") : t("keys.used", { when: ago(at) });
  const whose = team === null ? of_member && t("keys.ofmember") : t("reset.team", { email: team });
  return `${name} (${prefix}…): ${use}${whose ? ` · ${whose}` : ""}`;
}

function done(revoked: number): HTMLElement {
  return authCard(
    t("reset.title"),
    null,
    notice("good", t("reset.done")),
    revoked > 0 && notice("info", t("reset.revoked", { count: revoked })),
    el("p", {}, el("a", { class: "button primary", href: `${BASE}/sign-in` }, t("signin.title"))),
  );
}
