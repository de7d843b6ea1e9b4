import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { failureText } from "../../../page-parts/browser/failure.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { dateTimeExact, dayShort, number } from "../../../page-parts/browser/format.ts";
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
  return table(
    t("refused.title"),
    [t("usage.day"), t("calls.status"), t("refused.cause"), t("usage.records"), t("calls.key")],
    counts.map(({ day, key_name, status, cause, calls }) => [
      dayShort(day),
      badge(status),
      causeText(cause),
      number(calls),
      key_name ?? t("calls.unknownkey"),
    ]),
  );
}

function lastTable(last: readonly RefusedCall[], open: boolean): Child {
  return el(
    "details",
    { open },
    el("summary", {}, t("refused.last")),
    table(
      t("refused.last"),
      [
        t("calls.time"),
        t("calls.status"),
        t("refused.cause"),
        t("calls.key"),
        t("refused.endpoint"),
        t("refused.id"),
      ],
      last.map(({ at, key_name, status, cause, endpoint, model, call_id }) => [
        dateTimeExact(at),
        badge(status),
        causeText(cause),
        key_name ?? t("calls.unknownkey"),
        model === null ? endpoint : `${endpoint} · ${model}`,
        el("code", {}, call_id),
      ]),
    ),
  );
}

function table(
  label: string,
  columns: readonly string[],
  rows: readonly (readonly Child[])[],
): Child {
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      { class: "data" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((cells) =>
          el(
            "tr",
            {},
            cells.map((cell) => el("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}

function badge(status: number): HTMLElement {
  return el("span", { class: "badge bad" }, status);
}

/** Returns the text of a known cause. Any other is the name of the field at fault. */
function causeText(cause: string): Child {
  return textIfAny(`cause.${cause}`) ?? [t("refused.field"), " ", el("code", {}, cause)];
}
