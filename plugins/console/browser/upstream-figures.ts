import { type Child, el } from "../../page-parts/browser/dom.ts";
import { dayBefore, minuteOf, number, seconds, vnd } from "../../page-parts/browser/format.ts";
import { figures } from "../../page-parts/browser/table.ts";
import { BASE } from "./base.ts";
import { commandText } from "./command-line.ts";
import type { Report, SumsRow, TimeRow, Traffic, Upstream, UpstreamRow } from "./contract.ts";
import { subsection } from "./section.ts";
import { get, hasCommand } from "./session.ts";
import { t } from "./text.ts";
import { lastSteps, periodOf, rowsOf, type Steps, timeBars } from "./time-bars.ts";

/** The figures of all upstreams, from all gateways: of a period, and of today. */
export interface UpstreamFigures {
  readonly steps: Steps;
  readonly rows: readonly UpstreamRow[];
  readonly times: readonly TimeRow[];
  readonly today: readonly SumsRow[];
}

/** Reads the figures; undefined if this gateway does not count traffic. */
export async function readFigures(by: Steps["by"]): Promise<UpstreamFigures | undefined> {
  if (!hasCommand("traffic")) return undefined;
  const steps = lastSteps(by);
  const query = { upstream: "*", ...periodOf(steps) };
  const day = dayBefore(0);
  const [{ rows }, { rows: times }, report] = await Promise.all([
    get<Traffic<UpstreamRow>>("/traffic", { by: "upstream", ...query }),
    get<Traffic<TimeRow>>("/traffic", { by, ...query }),
    hasCommand("report")
      ? get<Report>("/report", { by: "provider", from: day, to: day })
      : undefined,
  ]);
  return { steps, rows, times, today: report?.rows ?? [] };
}

/** The figures of one upstream: uptime, times to the first byte, failures by time and cause, today's calls and cost. */
export function upstreamFigures(name: string, all: UpstreamFigures): Child {
  const { steps, rows, times, today } = all;
  const row = rows.find(({ upstream }) => upstream === name);
  const ofToday = today.find(({ provider }) => provider === name);
  if (!row && !ofToday) return el("p", { class: "hint" }, t("upstreams.idle"));
  const attempts = rows.reduce((sum, one) => sum + one.served + one.failed, 0);
  const toMs = steps.fromMs + steps.count * steps.stepMs;
  const tried = row ? row.served + row.failed : 0;
  const day = dayBefore(0);
  const counts = (by: string, upstream: string) => {
    const period = { from: minuteOf(steps.fromMs), to: minuteOf(toMs) };
    return `${BASE}/traffic?${new URLSearchParams({ by, upstream, ...period })}`;
  };
  const causes = Object.entries(row?.failures_by_cause ?? {})
    .map(([cause, count]) => `${cause} ${number(count)}`)
    .join(", ");
  return [
    figures([
      {
        name: t("upstreams.uptime"),
        value: row ? uptimeText(row) : "–",
        href: counts(steps.by, name),
        note: t("upstreams.served", { served: number(row?.served ?? 0), all: number(tried) }),
      },
      {
        name: t("upstreams.first.byte"),
        value: row ? firstByteText(row) : "–",
        href: rowsOf("served", steps.fromMs, toMs, name),
        note: t("upstreams.first.byte.note"),
      },
      {
        name: t("upstreams.failures"),
        value: number(row?.failed ?? 0),
        href: rowsOf("failed", steps.fromMs, toMs, name),
        note: causes === "" ? t("upstreams.causes.none") : causes,
      },
      {
        name: t("upstreams.share"),
        value: attempts === 0 ? "–" : `${number((tried / attempts) * 100, 1)}%`,
        href: counts("upstream", "*"),
      },
      {
        name: t("upstreams.today"),
        value: t("calls.count", { count: ofToday?.calls ?? 0 }),
        href: `${BASE}/calls?${new URLSearchParams({ upstream: name, from: day, to: day })}`,
        note: t("upstreams.today.note", {
          cost: ofToday?.cost_vnd ? vnd(ofToday.cost_vnd) : t("unknown"),
          failed: number(ofToday?.failed_calls ?? 0),
        }),
      },
    ]),
    row &&
      timeBars(
        t("upstreams.chart", { name, served: number(row.served), failed: number(row.failed) }),
        times.filter(({ upstream }) => upstream === name),
        steps,
        name,
      ),
  ];
}

/** Returns the figures of an upstream for a spreadsheet, whose columns are those of the first upstream, busy or not. */
export function csvFigures(name: string, { rows }: UpstreamFigures): UpstreamRow {
  const idle = {
    ...{ upstream: name, served: 0, failed: 0, uptime_percent: null },
    ...{ first_byte_p50_ms: null, first_byte_p99_ms: null, failures_by_cause: {} },
  };
  return rows.find(({ upstream }) => upstream === name) ?? idle;
}

/** The models that may be sent to an upstream, folded; it stays open while the page is read again. */
export function upstreamRoutes({ name, routes }: Upstream): Child {
  const id = `routes-${name}`;
  const isOpen = document.getElementById(id)?.hasAttribute("open");
  return (
    routes.length > 0 &&
    el(
      "details",
      { id, open: isOpen },
      el("summary", {}, t("upstreams.routes", { count: routes.length })),
      subsection({
        title: t("upstreams.routes.of", { name }),
        rows: routes,
        columns: [
          { title: t("model"), cell: ({ model }) => model },
          { title: t("upstreams.routes.name"), cell: ({ name: there }) => el("code", {}, there) },
          { title: t("upstreams.routes.priority"), isNumber: true, cell: (row) => row.priority },
          { title: t("upstreams.routes.weight"), isNumber: true, cell: (row) => row.weight },
          {
            title: t("upstreams.routes.share"),
            isNumber: true,
            cell: (row) => `${number(row.share_percent, 1)}%`,
          },
        ],
        none: "",
        file: `routes-${name}`,
        command: commandText("upstreams"),
      }),
    )
  );
}

export function uptimeText({ uptime_percent }: UpstreamRow): string {
  return uptime_percent === null ? "–" : `${number(uptime_percent, 2)}%`;
}

export function firstByteText({ first_byte_p50_ms, first_byte_p99_ms }: UpstreamRow): string {
  if (first_byte_p50_ms === null || first_byte_p99_ms === null) return "–";
  // A number stays on the line of its unit.
  const whole = (ms: number) => seconds(ms).replace(" ", "\u00a0");
  return `${whole(first_byte_p50_ms)} / ${whole(first_byte_p99_ms)}`;
}
