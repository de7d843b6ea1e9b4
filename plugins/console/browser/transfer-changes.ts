import { ApiError } from "../../page-parts/browser/api-error.ts";
import { type Child, el } from "../../page-parts/browser/dom.ts";
import { field, notice } from "../../page-parts/browser/form.ts";
import { vnd } from "../../page-parts/browser/format.ts";
import { BASE } from "./base.ts";
import { openChange, reasonField } from "./change.ts";
import type { Transfer } from "./contract.ts";
import { findAccount } from "./find-account.ts";
import { smallButton } from "./section.ts";
import { may } from "./session.ts";
import { t } from "./text.ts";

type Done = () => Promise<void>;

/** The changes that a transfer allows in its state. */
export function transferButtons(transfer: Transfer, done: Done): Child {
  const name = `${vnd(transfer.amount_vnd ?? 0)}, ${transfer.id}`;
  const button = (text: string, open: () => void) => smallButton(text, name, open);
  const { state } = transfer;
  if (!may("money")) return false;
  return el(
    "span",
    { class: "row" },
    (state === "unmatched" || state === "ignored") &&
      button(t("transfer.assign"), () => openAssign(transfer, done)),
    state === "unmatched" && button(t("transfer.ignore"), () => openEnd(transfer, "ignore", done)),
    (state === "unmatched" || state === "ignored") &&
      transfer.direction === "in" &&
      button(t("transfer.return"), () => openEnd(transfer, "return", done)),
    state === "credited" && button(t("transfer.reverse"), () => openReverse(transfer, done)),
  );
}

/** `to`: the code of an order or the address of a customer, if one was suggested. */
export function openAssign(transfer: Transfer, done: Done, to = ""): void {
  const owner = field(
    t("transfer.owner"),
    { required: true, maxlength: 254, value: to },
    t("transfer.owner.hint"),
  );
  const reason = reasonField();
  const named = () => owner.input.value.trim();
  const isOrder = () => /^[a-z0-9]{6,25}$/i.test(named());
  openChange({
    title: t("transfer.assign"),
    about: [about(transfer), alikeNotice(transfer)],
    fields: [owner, reason],
    path: pathOf(transfer, "assign"),
    command: "transfer assign",
    of: { transfer: transfer.id },
    given: () => ({
      [isOrder() ? "order" : "account"]: named(),
      reason: reason.input.value,
    }),
    async body() {
      const given = { reason: reason.input.value };
      if (isOrder()) return { order: named(), ...given };
      const account = await findAccount(named());
      if (account === undefined) throw new ApiError(404, null, t("account.unknown"), null);
      return { account, ...given };
    },
    movesMoney: true,
    done,
  });
}

function openReverse(transfer: Transfer, done: Done): void {
  const reason = reasonField();
  const rest = el("input", { type: "checkbox" });
  const element = el("label", { class: "tick" }, rest, el("span", {}, t("transfer.reverse.rest")));
  openChange({
    title: t("transfer.reverse"),
    about: [about(transfer), el("p", {}, t("transfer.reverse.about"))],
    fields: [reason, { element }],
    path: pathOf(transfer, "reverse"),
    command: "transfer reverse",
    of: { transfer: transfer.id },
    given: () => ({ reason: reason.input.value, as_much_as_there_is: rest.checked }),
    isDangerous: true,
    movesMoney: true,
    done,
  });
}

/** Ignores it, or notes that it was sent back to its payer. */
function openEnd(transfer: Transfer, how: "ignore" | "return", done: Done): void {
  const reason = reasonField();
  openChange({
    title: t(`transfer.${how}`),
    about: [about(transfer), el("p", {}, t(`transfer.${how}.about`))],
    fields: [reason],
    path: pathOf(transfer, how),
    command: `transfer ${how}`,
    of: { transfer: transfer.id },
    given: () => ({ reason: reason.input.value }),
    isDangerous: how === "return",
    done,
  });
}

/** Says that a transfer may be another one, with a link to that. */
export function alikeNotice({ cause, alike }: Transfer): Child {
  return cause === "alike" && notice("bad", t("transfer.alike"), " ", transferLink(alike));
}

export function transferLink(id: string | null): Child {
  return id !== null && el("a", { href: `${BASE}/money/${encodeURIComponent(id)}` }, id);
}

function about({ amount_vnd, content }: Transfer): HTMLElement {
  return el("p", {}, el("strong", {}, vnd(amount_vnd ?? 0)), ` · ${content ?? ""}`);
}

function pathOf({ id }: Transfer, change: string): string {
  return `/transfers/${encodeURIComponent(id)}/${change}`;
}
