import { toast } from "../../page-parts/browser/announce.ts";
import { badge } from "../../page-parts/browser/badge.ts";
import { el, fill } from "../../page-parts/browser/dom.ts";
import { choice, field } from "../../page-parts/browser/form.ts";
import { dateTime, dayBefore, dayLong, number, vnd } from "../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../page-parts/browser/page-head.ts";
import { pairs } from "../../page-parts/browser/table.ts";
import { BASE } from "./base.ts";
import { openChange } from "./change.ts";
import { commandText } from "./command-line.ts";
import type { VoucherBatch, WholeVoucherBatch } from "./contract.ts";
import { customerLink } from "./customer-link.ts";
import { downloadCsv } from "./download.ts";
import { section, smallButton } from "./section.ts";
import { get, may } from "./session.ts";
import { t } from "./text.ts";

/** The path of a batch below the page of money. */
const PART = "vouchers/";
/** Batches, or redemptions of one, that are read at once. */
const SHOWN_MAX = 1000;

/** Batches of vouchers, with a button that makes one. */
export function voucherList(signal: AbortSignal): HTMLElement {
  const place = el("div", {});
  const again = () =>
    loadInto(place, signal, async () =>
      batchesPart(await get<VoucherBatch[]>("/vouchers", { limit: SHOWN_MAX }), again),
    );
  const make = el("button", { type: "button", onclick: () => openBatch(again) }, t("voucher.make"));
  void again();
  return el("div", { class: "grid" }, place, may("owner") && el("p", { class: "row end" }, make));
}

function batchesPart(rows: readonly VoucherBatch[], again: () => Promise<void>): HTMLElement {
  return section({
    title: t("vouchers"),
    rows,
    rowsMax: SHOWN_MAX,
    columns: [
      {
        title: t("voucher.note"),
        cell: ({ id, note }) => el("a", { href: `${BASE}/money/${PART}${id}` }, note),
      },
      { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => vnd(amount_vnd) },
      {
        title: t("voucher.redeemed"),
        isNumber: true,
        cell: ({ redeemed, codes, uses }) => `${number(redeemed)} / ${number(codes * uses)}`,
      },
      { title: t("voucher.days"), cell: days },
      { title: t("customers.state"), cell: stateBadge },
      { title: t("actions"), cell: (batch) => cancelButton(batch, again) },
    ],
    none: t("voucher.none"),
    file: "vouchers",
    command: commandText("voucher list"),
  });
}

/** Shows a batch and who redeemed its codes. Returns false for an address of another page. */
export async function showBatch(
  root: HTMLElement,
  rest: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!rest.startsWith(PART)) return false;
  const id = rest.slice(PART.length);
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("vouchers"), null), place);
  const load = () =>
    loadInto(place, signal, async (isWanted) => {
      const batch = await get<WholeVoucherBatch>(`/vouchers/${id}`, { limit: SHOWN_MAX });
      if (isWanted())
        fill(root, pageHead(batch.note, t("vouchers"), cancelButton(batch, load)), place);
      return [card(t("vouchers"), facts(batch)), redemptions(batch)];
    });
  await load();
  return true;
}

function facts(batch: WholeVoucherBatch): HTMLElement {
  const { codes, uses, redeemed, once_per_customer, amount_vnd, credited_vnd } = batch;
  return pairs([
    [t("customers.state"), stateBadge(batch)],
    [t("amount"), vnd(amount_vnd)],
    [t("voucher.count"), number(codes)],
    [t("voucher.uses"), number(uses)],
    [t("voucher.once"), t(once_per_customer ? "yes" : "no")],
    [t("voucher.days"), days(batch)],
    [t("voucher.redeemed"), `${number(redeemed)} · ${vnd(credited_vnd)}`],
  ]);
}

function redemptions({ id, redemptions: rows }: WholeVoucherBatch): HTMLElement {
  return section({
    title: t("voucher.redeemed"),
    rows,
    rowsMax: SHOWN_MAX,
    columns: [
      { title: t("time"), cell: ({ redeemed_at }) => dateTime(redeemed_at) },
      {
        title: t("money.owner"),
        cell: ({ account, email }) => customerLink(account, email),
      },
      { title: t("voucher.code"), cell: ({ prefix }) => el("code", {}, `${prefix}…`) },
      {
        title: t("customers.state"),
        cell: ({ credited_at }) =>
          credited_at === null
            ? badge("info", t("transfer.matched"))
            : badge("good", t("transfer.credited")),
      },
    ],
    none: t("voucher.unredeemed"),
    file: "redemptions",
    command: commandText("voucher show", { voucher: id }),
  });
}

/** The codes come once, as a file: the gateway does not have them afterwards. */
function openBatch(again: () => Promise<void>): void {
  const whole = { inputmode: "numeric", pattern: "[0-9]+", required: true };
  const amount = field(t("amount"), { ...whole, maxlength: 9 });
  const count = field(t("voucher.count"), { ...whole, maxlength: 5, value: "1" });
  const uses = field(t("voucher.uses"), { ...whole, maxlength: 7, value: "1" });
  const from = field(t("voucher.from"), { type: "date" }, t("voucher.from.hint"));
  const until = field(t("voucher.until"), { type: "date", min: dayBefore(0), required: true });
  const note = field(t("voucher.note"), { required: true, maxlength: 200 });
  const options = [
    ["", t("no")],
    ["once", t("yes")],
  ] as const;
  const { element, select } = choice(t("voucher.once"), options);
  openChange({
    title: t("voucher.make"),
    about: [el("p", { class: "hint" }, t("voucher.make.about")), element],
    fields: [amount, count, uses, from, until, note],
    path: "/vouchers",
    command: "voucher create",
    given: () => ({
      amount_vnd: amount.input.value,
      count: count.input.value && Number(count.input.value),
      uses: uses.input.value && Number(uses.input.value),
      until: until.input.value,
      from: from.input.value,
      note: note.input.value,
      once_per_customer: select.value !== "",
    }),
    movesMoney: true,
    async done(reply) {
      const { id, state, list: codes } = reply as VoucherBatch & { list: object[] };
      downloadCsv(`vouchers-${id.slice(0, 8)}`, codes);
      if (state === "waiting") toast(t("voucher.waits"));
      await again();
    },
  });
}

function cancelButton(batch: VoucherBatch, done: () => Promise<void>): HTMLElement | false {
  const { id, note, state } = batch;
  const text = t("voucher.cancel");
  const open = () =>
    openChange({
      title: text,
      about: el("p", {}, t("voucher.cancel.about", { note })),
      fields: [],
      path: `/vouchers/${id}/cancel`,
      command: "voucher cancel",
      of: { voucher: id },
      isDangerous: true,
      done,
    });
  return (
    may("money") &&
    (state === "open" || state === "planned" || state === "waiting") &&
    smallButton(text, note, open)
  );
}

function days({ first_day, last_day }: VoucherBatch): string {
  return `${dayLong(first_day)} – ${dayLong(last_day)}`;
}

function stateBadge({ state }: VoucherBatch): HTMLElement {
  const kinds = {
    waiting: "info",
    open: "good",
    planned: "info",
    ended: "",
    cancelled: "",
  } as const;
  return badge(kinds[state], t(`voucher.${state}`));
}
