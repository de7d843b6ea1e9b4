import { el, fill } from "../../page-parts/browser/dom.ts";
import { vnd } from "../../page-parts/browser/format.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { get } from "./api.ts";
import type { Wallet } from "./contract.ts";
import { canTopUp } from "./plugins.ts";
import { BASE } from "./routes.ts";
import { t } from "./text.ts";

let available: string | undefined;

/**
 * The balance as a link to the page that tops it up, else to that of its movements, for the menu of every page. Shows the
 * last known until it is read again.
 */
export function balanceLink(): HTMLElement {
  const link = el(
    "a",
    { class: "wallet", href: BASE + (canTopUp() ? "/top-up" : "/money") },
    el(
      "span",
      { class: "wallet-amount" },
      el("span", { class: "hint" }, t("balance")),
      el("strong", {}),
    ),
    canTopUp() && el("span", { class: "wallet-action" }, icon("plus"), t("topup.action")),
  );
  showIn(link);
  void readWallet().then(
    () => showIn(link),
    () => {},
  );
  return link;
}

function showIn(link: HTMLElement): void {
  const amount = link.querySelector("strong");
  if (amount) fill(amount, available === undefined ? "\u00a0" : vnd(available));
  link.title = available === undefined ? "" : `${available} đ`;
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

/** Reads the wallet again, and shows it in the menus of this page. */
export async function refreshWallet(): Promise<Wallet> {
  forgetWallet();
  const read = await readWallet();
  for (const link of document.querySelectorAll<HTMLElement>("a.wallet")) showIn(link);
  return read;
}

/** Forgets the balance too, since its customer leaves. */
export function forgetBalance(): void {
  forgetWallet();
  available = undefined;
}
