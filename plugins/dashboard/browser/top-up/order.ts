import { announce } from "../../../page-parts/browser/announce.ts";
import { copyButton } from "../../../page-parts/browser/copy.ts";
import { confirmed } from "../../../page-parts/browser/dialog.ts";
import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { icon } from "../../../page-parts/browser/icons.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { orSayFailure } from "../../../page-parts/browser/say-failure.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { get, post } from "../api.ts";
import { refreshWallet } from "../balance.ts";
import type { KeyList, TopUp } from "../contract.ts";
import { BASE } from "../routes.ts";
import { t } from "../text.ts";
import { orderBadge } from "./history.ts";
import { saveQr } from "./save-qr.ts";

/** Polls often at first, while the customer makes the transfer, then less and less. */
const POLL_MS_MIN = 2_000;
const POLL_MS_MAX = 15_000;
const POLL_GROWTH = 1.15;
/** Polling ends at these. An expired or underpaid order may still get a transfer. */
const FINAL: readonly string[] = ["paid", "overpaid", "cancelled"];

/** Shows how to pay an order, and polls until it is paid. */
export async function renderOrder({ root, rest, signal }: PageContext): Promise<void> {
  fill(root, waiting());
  let order = await get<TopUp>(`/top-ups/${encodeURIComponent(rest)}`);
  const status = el("div", { class: "order-status", "aria-live": "polite" });
  const body = el("div");
  const show = async () => {
    fill(status, orderBadge(order), el("span", {}, statusText(order)));
    const isDue = order.status === "open" || order.status === "underpaid";
    fill(body, isDue ? payment(order, cancel) : await outcome(order));
  };
  const cancel = async () => {
    if (!(await confirmed(t("topup.cancel"), t("topup.cancel.text"), t("topup.cancel")))) return;
    await orSayFailure(async () => {
      order = { ...order, ...(await post<TopUp>(`/top-ups/${order.id}/cancel`)) };
      await show();
    });
  };
  fill(
    root,
    el("p", {}, el("a", { class: "back", href: `${BASE}/top-up` }, icon("back"), t("topup.all"))),
    pageHead(
      t("topup.order", { code: order.code }),
      t("topup.order.lead", { amount: vnd(order.amount_vnd) }),
    ),
    status,
    body,
  );
  await show();
  void poll();

  async function poll(): Promise<void> {
    for (let pause = POLL_MS_MIN; ; pause = Math.min(pause * POLL_GROWTH, POLL_MS_MAX)) {
      if (FINAL.includes(order.status)) return;
      await nextPoll(pause, signal);
      if (signal.aborted) return;
      try {
        const now = await get<TopUp>(`/top-ups/${order.id}`);
        if (signal.aborted) return;
        const isSame = now.status === order.status && now.received_vnd === order.received_vnd;
        if (isSame) continue;
        order = now;
        await show();
        announce(statusText(order));
      } catch {
        // Retry: a phone may lose its network for a moment.
      }
    }
  }
}

/**
 * Resolves after the pause, or as soon as the page becomes visible again or the customer leaves it.
 */
function nextPoll(pauseMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      if (document.hidden && !signal.aborted) return;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", done);
      resolve();
    };
    const timer = setTimeout(done, pauseMs);
    document.addEventListener("visibilitychange", done);
    signal.addEventListener("abort", done, { once: true });
  });
}

function statusText(order: TopUp): string {
  const values = {
    received: vnd(order.received_vnd),
    amount: vnd(order.amount_vnd),
    until: dateTime(order.expires_at),
  };
  switch (order.status) {
    case "open":
      return t("topup.waiting", values);
    case "paid":
      return t("topup.paid", values);
    case "underpaid":
      return t("topup.underpaid", values);
    case "overpaid":
      return t("topup.overpaid", values);
    case "expired":
      return t("topup.expired", values);
    case "cancelled":
      return t("topup.cancelled", values);
    default:
      return "";
  }
}

/** How to pay what is missing, and what was paid so far. */
function payment(order: TopUp, cancel: () => void): HTMLElement {
  const { bank, payments = [] } = order;
  const qr = el("img", {
    class: "qr",
    alt: t("topup.qr.alt"),
    width: 264,
    height: 264,
    // The browser runs no script of an SVG in an <img>.
    src: `data:image/svg+xml,${encodeURIComponent(order.qr_svg ?? "")}`,
  });
  const amount = String(order.missing_vnd);
  const missing = notice(
    "info",
    el("strong", {}, t("topup.missing", { missing: vnd(amount) })),
    t("topup.rest"),
  );
  const received = card(
    t("topup.payments"),
    pairs(
      payments.map((paid) => [
        dateTime(paid.at),
        [`+${vnd(paid.amount_vnd)}`, bonusIn(paid.bonus_vnd)],
      ]),
    ),
  );
  const ways = el(
    "div",
    { class: "grid two order" },
    card(
      t("topup.scan"),
      el("div", { class: "qr-frame" }, qr),
      el("p", { class: "hint center" }, t("topup.scan.hint")),
      el(
        "p",
        { class: "row center" },
        el(
          "button",
          { type: "button", class: "small", onclick: () => orSayFailure(() => saveQr(qr, order)) },
          icon("download"),
          t("topup.qr.save"),
        ),
      ),
    ),
    card(
      t("topup.byhand"),
      el(
        "dl",
        { class: "transfer" },
        transferField(t("topup.bank"), bank.name),
        transferField(t("topup.account"), bank.account_number, true),
        transferField(t("topup.name"), bank.account_name, true),
        transferField(t("amount"), vnd(amount), true, amount),
        transferField(t("topup.content"), order.content, true),
      ),
      notice("info", t("topup.content.hint")),
      order.status === "open" &&
        el("button", { type: "button", class: "quiet", onclick: cancel }, t("topup.cancel")),
    ),
  );
  const expected = order.expected_bonus_vnd ?? "0";
  const earns = notice("good", t("topup.bonus.expected", { bonus: vnd(expected) }));
  const isShort = order.status === "underpaid";
  return el(
    "div",
    { class: "grid" },
    isShort && missing,
    Number(expected) > 0 && earns,
    ways,
    isShort && received,
  );
}

function bonusIn(amount: string): HTMLElement | false {
  const text = () => ` ${t("topup.bonus.short", { bonus: vnd(amount) })}`;
  return Number(amount) > 0 && el("small", { class: "hint" }, text());
}

function transferField(name: string, shown: string, copies = false, copied = shown): HTMLElement {
  return el(
    "div",
    {},
    el("dt", {}, name),
    el(
      "dd",
      {},
      el("span", {}, shown),
      copies && copyButton(t("copy.named", { name }), () => copied),
    ),
  );
}

/** The result, and the next step: a key, or how to connect with one. */
async function outcome(order: TopUp): Promise<HTMLElement> {
  const isCredited = Number(order.received_vnd) > 0;
  const [wallet, keys] = isCredited
    ? await Promise.all([
        refreshWallet().catch(() => undefined),
        get<KeyList>("/keys").catch(() => undefined),
      ])
    : [];
  const hasKey = keys?.data.some(({ status }) => status === "active") ?? true;
  const next = hasKey
    ? { href: `${BASE}/how-to`, text: t("topup.connect") }
    : { href: `${BASE}/keys`, text: t("overview.makekey") };
  return card(
    null,
    el(
      "div",
      { class: isCredited ? "outcome good" : "outcome" },
      icon(isCredited ? "check" : "clock"),
      isCredited && el("p", { class: "figure" }, `+${vnd(order.received_vnd)}`),
      isCredited && el("p", {}, bonusIn(order.bonus_vnd)),
      order.paid_at !== null && el("p", { class: "hint" }, dateTime(order.paid_at)),
      wallet && el("p", {}, t("topup.newbalance", { amount: vnd(wallet.available_vnd) })),
      el(
        "p",
        { class: "row center" },
        isCredited
          ? [
              el("a", { class: "button primary", href: next.href }, next.text),
              el("a", { class: "button", href: BASE }, t("nav.overview")),
            ]
          : el("a", { class: "button primary", href: `${BASE}/top-up` }, t("topup.again")),
      ),
    ),
  );
}
