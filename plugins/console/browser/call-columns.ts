import { badge } from "../../page-parts/browser/badge.ts";
import { type Child, el } from "../../page-parts/browser/dom.ts";
import { dateTimeExact, exactVnd, number, seconds, vnd } from "../../page-parts/browser/format.ts";
import type { Column } from "../../page-parts/browser/table.ts";
import { BASE } from "./base.ts";
import type { Call, Refused } from "./contract.ts";
import { t } from "./text.ts";

/** The columns of a list of calls. The time leads to the call's story. */
export function callColumns(): readonly Column<Call>[] {
  return [
    {
      title: t("time"),
      cell: ({ call_id, at }) => el("a", { href: `${BASE}/calls/${call_id}` }, dateTimeExact(at)),
    },
    {
      title: t("model"),
      cell: ({ model, mapped_from }) =>
        mapped_from === null ? model : [model, " ", el("small", { class: "hint" }, mapped_from)],
    },
    { title: t("calls.upstream"), cell: ({ upstream }) => upstream ?? "–" },
    {
      title: t("calls.tokens"),
      isNumber: true,
      cell: ({ input_tokens, output_tokens }) =>
        `${number(input_tokens)} → ${number(output_tokens)}`,
    },
    { title: t("calls.charged"), isNumber: true, cell: charged },
    {
      title: t("report.cost"),
      isNumber: true,
      cell: ({ provider_cost_vnd }) =>
        provider_cost_vnd === null ? t("unknown") : vnd(provider_cost_vnd),
    },
    { title: t("calls.latency"), isNumber: true, cell: ({ latency_ms }) => seconds(latency_ms) },
    { title: t("status"), cell: ({ status, outcome }) => statusBadge(status, outcome) },
  ];
}

export function refusedColumns(): readonly Column<Refused>[] {
  return [
    { title: t("time"), cell: ({ at }) => dateTimeExact(at) },
    { title: t("model"), cell: ({ model, endpoint }) => model ?? endpoint },
    { title: t("status"), cell: ({ status }) => statusBadge(status, "refused") },
    { title: t("calls.cause"), cell: ({ cause }) => cause },
    {
      title: t("calls.id"),
      cell: ({ call_id }) => el("a", { href: `${BASE}/calls/${call_id}` }, call_id),
    },
  ];
}

/** The status that the client got, and how the call ended if it did not complete. */
export function statusBadge(status: number, outcome: string): HTMLElement {
  const isGood = status === 200 && outcome === "complete";
  const isBad = status >= 400 || outcome === "broken";
  const text = outcome === "complete" || outcome === "refused" ? status : `${status} ${outcome}`;
  return badge(isGood ? "good" : isBad ? "bad" : "info", text);
}

/** An amount that is red if the call cost the operator more. */
function charged({ cost_vnd, provider_cost_vnd }: Call): Child {
  const isBelow = provider_cost_vnd !== null && Number(provider_cost_vnd) > Number(cost_vnd);
  return el("span", { class: isBelow && "below", title: exactVnd(cost_vnd) }, vnd(cost_vnd));
}
