import { badge } from "../../../page-parts/browser/badge.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dateTimeExact, dayShort, number } from "../../../page-parts/browser/format.ts";
import { type Column, lineOf, table } from "../../../page-parts/browser/table.ts";
import { textIfAny } from "../../../page-parts/browser/text.ts";
import { get } from "../api.ts";
import type { Refused, RefusedCall, RefusedCount } from "../contract.ts";
import { t } from "../text.ts";
import { isWide } from "../wide.ts";
import type { Filter } from "./filters.ts";

/** The calls that were refused, as far as they pass the filter: their counts, and the last ones. Hidden if there are none. */
export function refusedCalls(signal: AbortSignal): {
  element: HTMLElement;
  show: (filter: Filter) => Promise<void>;
} {
  const body = el("div", {});
  const element = el(
    "details",
    { class: "card refused", hidden: true, open: isWide() },
    el("summary", {}, t("refused.title")),
    el("p", { class: "hint" }, t("refused.lead")),
    body,
  );
  let latestRequest = 0;
  return {
    element,
    async show(filter) {
      latestRequest += 1;
      const request = latestRequest;
      let content: Child;
      let isEmpty = false;
      try {
        const refused = await get<Refused>("/usage/refused", { ...filter });
        isEmpty = refused.counts.length === 0 && refused.last.length === 0;
        content = [
          filter.model === ""
            ? countTable(refused.counts)
            : el("p", { class: "hint" }, t("refused.bymodel")),
          refused.last.length > 0 && lastTable(refused.last, filter.model !== ""),
        ];
      } catch (error) {
        content = notice("bad", failureText(error));
      }
      if (signal.aborted || request !== latestRequest) return;
      element.hidden = isEmpty;
      fill(body, content);
    },
  };
}

function countTable(counts: readonly RefusedCount[]): Child {
  if (counts.length === 0) return el("p", { class: "empty" }, t("usage.none"));
  return scrolled(t("refused.title"), counts, [
    { title: t("day"), cell: ({ day }) => dayShort(day) },
    { title: t("status"), cell: ({ status }) => badge("bad", status) },
    { title: t("calls.cause"), cell: ({ cause }) => causeText(cause) },
    { title: t("usage.records"), cell: ({ calls }) => number(calls) },
    { title: t("calls.key"), cell: ({ key_name }) => key_name ?? t("calls.unknownkey") },
  ]);
}

function lastTable(last: readonly RefusedCall[], open: boolean): Child {
  const shown = scrolled(t("refused.last"), last, [
    { title: t("time"), cell: ({ at }) => dateTimeExact(at) },
    { title: t("status"), cell: ({ status }) => badge("bad", status) },
    { title: t("calls.cause"), cell: ({ cause }) => causeText(cause) },
    { title: t("calls.key"), cell: ({ key_name }) => key_name ?? t("calls.unknownkey") },
    {
      title: t("refused.endpoint"),
      cell: ({ endpoint, model }) => (model === null ? endpoint : `${endpoint} · ${model}`),
    },
    { title: t("calls.id"), cell: ({ call_id }) => el("code", {}, call_id) },
  ]);
  return el("details", { open }, el("summary", {}, t("refused.last")), shown);
}

/** A table that scrolls by itself if it is too wide. */
function scrolled<Row>(
  label: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): HTMLElement {
  const lines = rows.map((row) => lineOf(columns, row));
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    table("", columns, lines, "data"),
  );
}

/** Returns the text of a known cause. Any other is the name of the field at fault. */
function causeText(cause: string): Child {
  return textIfAny(`cause.${cause}`) ?? [t("refused.field"), " ", el("code", {}, cause)];
}
