import { type Child, el } from "../../page-parts/browser/dom.ts";
import {
  dateTimeExact,
  factorsText,
  number,
  seconds,
  vnd,
} from "../../page-parts/browser/format.ts";
import { textIfAny } from "../../page-parts/browser/text.ts";
import type { CallRecord } from "./contract.ts";
import { t } from "./text.ts";
import { showCall } from "./usage/call.ts";

/** Class names for the cells. The style sheet uses them when the columns do not fit the screen. */
const CLASSES = [
  "at",
  "model",
  "key",
  "number input",
  "number output",
  "number cost",
  "number latency",
  "status",
] as const;

/**
 * A table of calls; each opens with the calculation of its cost. On a phone each row becomes a block with its column names next to the values.
 */
export function callTable(calls: readonly CallRecord[]): HTMLElement {
  const columns = [
    t("calls.time"),
    t("calls.model"),
    t("calls.key"),
    t("calls.input"),
    t("calls.output"),
    t("calls.cost"),
    t("calls.latency"),
    t("calls.status"),
  ];
  const rows = calls.map((call) => {
    const cells = [
      el(
        "button",
        { type: "button", class: "link", title: t("call.open") },
        dateTimeExact(call.at),
      ),
      modelCell(call),
      call.key_name ?? t("calls.unknownkey"),
      number(call.input_tokens),
      number(call.output_tokens),
      el("span", { title: costParts(call) }, vnd(call.cost_vnd)),
      seconds(call.latency_ms),
      statusBadge(call),
    ];
    return el(
      "tr",
      { class: "opens", onclick: () => open(call.call_id) },
      cells.map((cell, at) => el("td", { "data-label": columns[at], class: CLASSES[at] }, cell)),
    );
  });
  return el(
    "table",
    { class: "data calls" },
    el("caption", { class: "hidden" }, t("calls.caption")),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        columns.map((name, at) => el("th", { scope: "col", class: CLASSES[at] }, name)),
      ),
    ),
    el("tbody", {}, rows),
  );
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
