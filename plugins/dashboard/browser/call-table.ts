import { type Child, el } from "../../page-parts/browser/dom.ts";
import {
  dateTimeExact,
  factorsText,
  number,
  seconds,
  vnd,
} from "../../page-parts/browser/format.ts";
import { type Column, lineOf, table } from "../../page-parts/browser/table.ts";
import { textIfAny } from "../../page-parts/browser/text.ts";
import type { CallRecord } from "./contract.ts";
import { t } from "./text.ts";
import { showCall } from "./usage/call.ts";

/** The columns of a call. The style sheet places their cells by their kinds if they do not fit the screen. */
function columnsOf(): readonly Column<CallRecord>[] {
  return [
    {
      title: t("time"),
      kind: "at",
      cell: ({ at }) =>
        el("button", { type: "button", class: "link", title: t("call.open") }, dateTimeExact(at)),
    },
    { title: t("model"), kind: "model", cell: modelCell },
    {
      title: t("calls.key"),
      kind: "key",
      cell: ({ key_name }) => key_name ?? t("calls.unknownkey"),
    },
    {
      title: t("calls.input"),
      kind: "number input",
      cell: ({ input_tokens }) => number(input_tokens),
    },
    {
      title: t("calls.output"),
      kind: "number output",
      cell: ({ output_tokens }) => number(output_tokens),
    },
    {
      title: t("calls.cost"),
      kind: "number cost",
      cell: (call) => el("span", { title: costParts(call) }, vnd(call.cost_vnd)),
    },
    {
      title: t("calls.latency"),
      kind: "number latency",
      cell: ({ latency_ms }) => seconds(latency_ms),
    },
    { title: t("status"), kind: "status", cell: statusBadge },
  ];
}

/** A table of calls; each opens with the calculation of its cost. On a phone each row becomes a block of three lines. */
export function callTable(calls: readonly CallRecord[]): HTMLElement {
  const columns = columnsOf();
  const lines = calls.map((call) => {
    const line = lineOf(columns, call);
    line.classList.add("opens");
    line.addEventListener("click", () => open(call.call_id));
    return line;
  });
  return table(t("calls.caption"), columns, lines, "data calls");
}

/** Opens a call, unless the customer has just marked text to copy it. */
function open(callId: string): void {
  if (getSelection()?.isCollapsed !== false) void showCall(callId);
}

/** The model that replied, with the name that the caller sent if it was another. */
function modelCell({ model, mapped_from }: CallRecord): Child {
  if (mapped_from === null) return model;
  return [model, el("small", { class: "mapped" }, t("calls.mapped", { name: mapped_from }))];
}

/** Returns the exact cost with its price and discount: `50.25 đ · 36,000 đ / 1M tokens · −7%`. */
function costParts(call: CallRecord): string {
  const { cost_vnd, unit, unit_price_vnd, factors, discount_bps } = call;
  const price = number(Number(unit_price_vnd), 6);
  const parts = [`${cost_vnd} đ`, t(`price.${unit}`, { price })];
  if (factors) parts.push(factorsText(factors));
  if (discount_bps > 0) parts.push(`−${number(discount_bps / 100, 2)}%`);
  return parts.join(" · ");
}

function statusBadge({ status, outcome, estimated }: CallRecord): HTMLElement {
  const isWhole = status === 200 && outcome === "complete";
  const kind = isWhole ? "good" : status === 200 ? "info" : "bad";
  const text = isWhole
    ? String(status)
    : `${status} · ${textIfAny(`outcome.${outcome}`) ?? outcome}`;
  return el(
    "span",
    { class: `badge ${kind}`, title: estimated ? t("calls.estimated") : undefined },
    text,
    estimated && " ≈",
  );
}
