import { el, fill } from "../../../page-parts/browser/dom.ts";
import { notice } from "../../../page-parts/browser/form.ts";
import { ago, dateTime, number } from "../../../page-parts/browser/format.ts";
import { pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import type { Column } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { commandText } from "../command-line.ts";
import type { CauseRow, TimeRow, Traffic, UpstreamRow } from "../contract.ts";
import { list } from "../list.ts";
import { get } from "../session.ts";
import { t } from "../text.ts";
import { lastSteps, periodOf, rowsOf } from "../time-bars.ts";
import { firstByteText, uptimeText } from "../upstream-figures.ts";

type Row = TimeRow | CauseRow | UpstreamRow;
type Filters = Readonly<Record<string, string>>;

const BY = ["hour", "minute", "cause", "upstream"] as const;
const STEP_MS: Readonly<Record<string, number>> = { hour: 3_600_000, minute: 60_000 };

/** Counts of calls, or of attempts at upstreams: by time, by cause, or by upstream. */
export function render({ root, signal }: PageContext): void {
  const { element } = list<Row>({
    title: t("traffic.title"),
    signal,
    filters: [
      {
        name: "by",
        label: t("by"),
        standard: "hour",
        options: BY.map((by) => [by, t(`traffic.by.${by}`)] as const),
      },
      { name: "upstream", label: t("traffic.upstream") },
      { name: "from", label: t("since"), type: "datetime-local" },
      { name: "to", label: t("traffic.to"), type: "datetime-local" },
    ],
    columns: (filters) => columnsOf(filters) as readonly Column<Row>[],
    async load(filters, limit) {
      const { rows, cut } = await get<Traffic<Row>>("/traffic", filters);
      const isCut = cut || rows.length > limit;
      return {
        rows: rows.slice(0, limit),
        isCut,
        ...(isCut && { note: notice("info", t("traffic.cut", { count: limit })) }),
      };
    },
    command: (filters) => commandText("traffic", filters),
    file: "traffic",
    none: t("traffic.none"),
  });
  fill(root, pageHead(t("traffic.title"), t("traffic.lead")), element);
}

function columnsOf({ by = "hour", upstream = "", from = "", to = "" }: Filters) {
  const ofUpstream = {
    title: t("traffic.upstream.is"),
    cell: (row: { readonly upstream?: string }) => row.upstream ?? "",
  };
  if (by === "upstream") {
    const led = (
      title: string,
      text: (row: UpstreamRow) => string,
      path: string,
    ): Column<UpstreamRow> => ({
      ...{ title, isNumber: true },
      cell: (row) => {
        const start = from || periodOf(lastSteps("hour")).from;
        const query = new URLSearchParams({ upstream: row.upstream, from: start, to });
        return el("a", { href: `${BASE}${path}&${query}` }, text(row));
      },
    });
    return [
      ofUpstream,
      led(t("upstreams.uptime"), uptimeText, "/traffic?by=hour"),
      led(t("upstreams.first.byte"), firstByteText, "/calls?status="),
      led(t("traffic.served"), ({ served }) => number(served), "/calls?status="),
      led(t("traffic.failed"), ({ failed }) => number(failed), "/traffic?by=cause"),
    ] satisfies Column<UpstreamRow>[];
  }
  const place = upstream === "" ? [] : [ofUpstream];
  if (by === "cause") {
    return [
      { title: t("calls.cause"), cell: ({ cause }) => el("code", {}, cause) },
      ...place,
      { title: t("traffic.count"), isNumber: true, cell: ({ calls }) => number(calls) },
      { title: t("traffic.last"), cell: ({ last_at }) => ago(last_at) },
    ] satisfies Column<CauseRow>[];
  }
  const linked = (part: "served" | "failed" | "refused"): Column<TimeRow> => ({
    title: t(`traffic.${part}`),
    isNumber: true,
    cell: (row) => {
      const fromMs = Date.parse(row.at);
      const href = rowsOf(part, fromMs, fromMs + (STEP_MS[by] ?? 0), row.upstream);
      return row[part] === 0 ? "0" : el("a", { href }, number(row[part]));
    },
  });
  return [
    { title: t("time"), cell: ({ at }) => dateTime(at) },
    ...place,
    linked("served"),
    linked("failed"),
    linked("refused"),
  ] satisfies Column<TimeRow>[];
}
