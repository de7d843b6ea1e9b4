import { copyButton } from "../../../page-parts/browser/copy.ts";
import { closeButton, openDialog } from "../../../page-parts/browser/dialog.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import {
  dateTime,
  exactVnd,
  number,
  percent,
  seconds,
} from "../../../page-parts/browser/format.ts";
import { waiting } from "../../../page-parts/browser/page-head.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { CallDetail } from "../contract.ts";
import { t } from "../text.ts";

/** Opens a dialog with all figures of a call, and how its cost comes about. */
export async function showCall(id: string): Promise<void> {
  const body = el("div", { class: "stack" }, waiting());
  openDialog(t("call.title"), body, el("div", { class: "row end" }, closeButton()));
  try {
    const call = await get<CallDetail>(`/calls/${id}`);
    fill(body, facts(call), calculation(call));
  } catch (error) {
    fill(body, notice("bad", failureText(error)));
  }
}

function facts(call: CallDetail): HTMLElement {
  const { status, outcome, first_byte_ms } = call;
  return pairs([
    [t("time"), dateTime(call.at)],
    [t("model"), call.model],
    [t("refused.endpoint"), el("code", {}, call.endpoint)],
    [t("calls.key"), call.key_name ?? t("calls.unknownkey")],
    [t("status"), `${status} · ${textIfAny(`outcome.${outcome}`) ?? outcome}`],
    [
      t("calls.latency"),
      first_byte_ms === null
        ? seconds(call.latency_ms)
        : `${seconds(call.latency_ms)} (${t("call.firstbyte", { time: seconds(first_byte_ms) })})`,
    ],
    [t("calls.input"), tokens(call.input_tokens, "call.cached", call.cache_read_tokens)],
    [t("calls.output"), tokens(call.output_tokens, "call.reasoning", call.reasoning_tokens)],
    [t("calls.id"), [el("code", {}, call.call_id), " ", copyButton(t("copy"), () => call.call_id)]],
  ]);
}

function tokens(count: number, part: "call.cached" | "call.reasoning", of: number): string {
  const all = t("balance.tokens", { count: number(count) });
  return of > 0 ? `${all} (${t(part, { count: number(of) })})` : all;
}

/** The steps of the charge, as a column of amounts that adds up. */
function calculation({ calculation: steps, estimated }: CallDetail): HTMLElement {
  const { unit, discounts } = steps;
  const quantity = number(steps.quantity, 6);
  const price = t(`price.${unit}`, { price: number(Number(steps.unit_price_vnd), 6) });
  const counted = {
    mtok: t("balance.tokens", { count: quantity }),
    call: t("calls.count", { count: quantity }),
    image: t("call.images", { count: quantity }),
  }[unit];
  const names = Object.entries(discounts).map(
    ([name, bps]) => `${discountName(name)} ${percent(bps)}`,
  );
  const rows: readonly (readonly [Child, string])[] = [
    [[`${counted} × ${price}`, weights(steps)], exactVnd(steps.list_vnd)],
    [t("call.discount", { parts: names.join(", ") }), less(steps.discount_vnd)],
    [t("call.fees"), exactVnd(steps.fees_vnd)],
    [t("call.writtenoff"), less(steps.written_off_vnd)],
  ];
  const shown = rows.filter(([, amount], at) => at === 0 || !/^−?0 đ$/.test(amount));
  return el(
    "table",
    { class: "data sum" },
    el("caption", {}, t("call.calculation")),
    el(
      "tbody",
      {},
      shown.map(([name, amount]) =>
        el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "number" }, amount)),
      ),
    ),
    el(
      "tfoot",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "row" }, t("call.charged"), estimated && ` (${t("calls.estimated")})`),
        el("td", { class: "number" }, exactVnd(steps.charged_vnd)),
      ),
    ),
  );
}

/** Shows how a quantity adds up if not everything in it has the same price. */
function weights({ parts }: CallDetail["calculation"]): Child {
  if (parts.every(({ factor }) => factor === 1)) return false;
  const texts = parts.map(({ kind, count, factor }) => {
    const counted = `${number(count)} ${t(`price.kind.${kind}`)}`;
    return factor === 1 ? counted : `${counted} × ${number(factor, 6)}`;
  });
  return el("small", { class: "mapped" }, texts.join(" + "));
}

function less(amount: string): string {
  return `−${exactVnd(amount)}`;
}

function discountName(name: string): string {
  return textIfAny(`discount.${name}`) ?? name;
}
