import { el } from "../../page-parts/browser/dom.ts";
import { field } from "../../page-parts/browser/form.ts";
import { exactVnd } from "../../page-parts/browser/format.ts";
import { newReference, openChange, reasonField } from "./change.ts";
import type { Account, Wallet } from "./contract.ts";
import { get } from "./session.ts";
import { t } from "./text.ts";

type Done = () => Promise<void>;

/** Adds money to a wallet, or takes some: `sign` -1. The reference is made now, so a repeated click counts once. */
export function openMovement({ id, email }: Account, sign: 1 | -1, done: Done): void {
  const reference = newReference();
  const amount = field(t("amount"), { inputmode: "decimal", required: true, maxlength: 30 });
  const reason = reasonField(t("reason.seen"));
  const signed = () => (sign < 0 ? "-" : "") + amount.input.value.trim().replace(/^-/, "");
  openChange({
    title: t(sign < 0 ? "account.debit" : "account.credit"),
    about: el("p", { class: "hint" }, `${email} · ${reference}`),
    fields: [amount, reason],
    path: `/accounts/${id}/${sign < 0 ? "adjustments" : "credits"}`,
    command: sign < 0 ? "adjust" : "credit",
    of: { account: email },
    given: () => ({ amount_vnd: signed(), reference, reason: reason.input.value }),
    isDangerous: sign < 0,
    movesMoney: true,
    async effect() {
      const { balance_vnd } = await get<Wallet>(`/accounts/${id}/wallet`);
      const after = (microOf(balance_vnd) + microOf(signed())) / 1e6;
      return el(
        "strong",
        {},
        t("account.effect", { before: exactVnd(balance_vnd), after: exactVnd(String(after)) }),
      );
    },
    done,
  });
}

export function openDiscount(account: Account, done: Done): void {
  const percent = field(t("account.discount.percent"), {
    type: "number",
    min: 0,
    max: 100,
    step: 0.01,
    required: true,
    value: account.discount_bps / 100,
  });
  const reason = reasonField();
  const bps = () => Math.round(Number(percent.input.value) * 100);
  openChange({
    title: t("account.discount"),
    fields: [percent, reason],
    path: `/accounts/${account.id}/discount`,
    command: "account discount",
    of: { account: account.email },
    given: () => ({ bps: bps(), reason: reason.input.value }),
    body: () => ({ discount_bps: bps(), reason: reason.input.value }),
    done,
  });
}

/** Changes of an account that need a reason alone, by the words of their texts: path and command. */
const REASONED = {
  suspend: ["suspend", "account suspend"],
  resume: ["resume", "account resume"],
  note: ["notes", "account note"],
  signout: ["sessions/end", "account sign-out"],
  factor: ["second-factor/off", "second-factor off"],
  close: ["close", "account close"],
} as const;

type Reasoned = keyof typeof REASONED;

/** Asks for a reason, then makes one of the changes that need nothing else. */
export function openReasoned(account: Account, words: Reasoned, done: Done): void {
  const [path, command] = REASONED[words];
  const reason = field(t(words === "note" ? "account.note.text" : "reason"), {
    required: true,
    maxlength: 500,
  });
  openChange({
    title: t(`account.${words}`),
    about: el("p", {}, t(`account.${words}.about`, { email: account.email })),
    fields: [reason],
    path: `/accounts/${account.id}/${path}`,
    command,
    of: { account: account.email },
    given: () => ({ reason: reason.input.value }),
    isDangerous: words !== "note" && words !== "resume",
    done,
  });
}

/** Changes the address that a customer signs in with. */
export function openEmail(account: Account, done: Done): void {
  const to = field(t("account.email.to"), { type: "email", required: true, maxlength: 254 });
  const reason = reasonField();
  openChange({
    title: t("account.email"),
    about: el("p", {}, t("account.email.about", { email: account.email })),
    fields: [to, reason],
    path: `/accounts/${account.id}/email`,
    command: "account email",
    of: { account: account.email },
    given: () => ({ to: to.input.value, reason: reason.input.value }),
    isDangerous: true,
    done,
  });
}

/** Mails a customer without a password the link to set one. */
export function openWelcome(account: Account, done: Done): void {
  openChange({
    title: t("account.welcome"),
    about: el("p", {}, t("account.welcome.about", { email: account.email })),
    fields: [],
    path: `/accounts/${account.id}/welcome`,
    command: "account welcome",
    of: { account: account.email },
    given: () => ({ again: true }),
    done,
  });
}

/** Balances are exact as whole µđ, which a double has up to 9 billion đ. */
function microOf(vnd: string): number {
  return Math.round(Number(vnd) * 1e6);
}
