import { el, fill } from "../../page-parts/browser/dom.ts";
import { vnd } from "../../page-parts/browser/format.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { get } from "./api.ts";
import type { Wallet } from "./contract.ts";
import { BASE } from "./routes.ts";
import { t } from "./text.ts";

let available: string | undefined;
/** Shows the last known balance in the menu of this page. */
let showInMenu = () => {};

/** The balance as a link to the page that tops it up, for the menu of every page. Shows the last known until it is read again. */
export function balanceLink(): HTMLElement {
  const amount = el("strong", {});
  const link = el(
    "a",
    { class: "wallet", href: `${BASE}/top-up` },
    el("span", { class: "wallet-amount" }, el("span", { class: "hint" }, t("balance")), amount),
    el("span", { class: "wallet-action" }, icon("plus"), t("topup.action")),
  );
  const show = () => {
    fill(amount, available === undefined ? "\u00a0" : vnd(available));
    link.title = available === undefined ? "" : `${available} đ`;
  };
  showInMenu = show;
  show();
  void readWallet().then(show, () => {});
  return link;
}

let wallet: Promise<Wallet> | undefined;

/** Reads the wallet, once for all parts of a page. */
export function readWallet(): Promise<Wallet> {
  wallet ??= read();
  return wallet;
}

/** A reply that comes after `forgetWallet` changes nothing: it may be of the customer before. */
function read(): Promise<Wallet> {
  const reading: Promise<Wallet> = get<Wallet>("/wallet").then(
    (found) => {
      if (wallet === reading) available = found.available_vnd;
      return found;
    },
    (error: unknown) => {
      if (wallet === reading) wallet = undefined;
      throw error;
    },
  );
  return reading;
}

/** Lets the next page read the wallet again. */
export function forgetWallet(): void {
  wallet = undefined;
}

/** Reads the wallet again, and shows it in the menu. */
export async function refreshWallet(): Promise<Wallet> {
  forgetWallet();
  const read = await readWallet();
  showInMenu();
  return read;
}

/** Forgets the balance too, since its customer leaves. */
export function forgetBalance(): void {
  forgetWallet();
  available = undefined;
}
