import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { dayBefore, dayLong, number, percent, vnd } from "../../../page-parts/browser/format.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { figures } from "../../../page-parts/browser/table.ts";
import { BASE } from "../base.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { MoneyReport, Report, SumsRow, TimeRow, Traffic } from "../contract.ts";
import { redraw, showFresh } from "../live.ts";
import { movedFigure, owedFigure } from "../movements.ts";
import { section } from "../section.ts";
import { get, hasCommand } from "../session.ts";
import { readTasks, taskList } from "../tasks.ts";
import { t } from "../text.ts";
import { lastSteps, periodOf, timeBars } from "../time-bars.ts";

/** Today and a week before it. */
const DAYS = 8;

/** Today's figures beside those of yesterday and a week ago, and all that needs a person. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" }, waiting());
  fill(root, pageHead(t("nav.overview"), t("overview.lead")), place);
  const refresh = async () => {
    const shown = await read();
    if (!signal.aborted) redraw(place, shown);
    return !signal.aborted;
  };
  await showFresh(place, signal, refresh);
}

async function read(): Promise<HTMLElement[]> {
  const today = dayBefore(0);
  if (!hasCommand("report"))
    return [card(t("overview.tasks"), taskList(await readTasks(undefined))), ...(await hours())];
  const [byHour, days, money] = await Promise.all([
    hours(),
    get<Report>("/report", { by: "day", from: dayBefore(DAYS - 1), to: today }),
    get<MoneyReport>("/report", { from: today, to: today }),
  ]);
  const of = (ago: number) => days.rows.find(({ day }) => day === dayBefore(ago));
  return [
    card(t("overview.tasks"), taskList(await readTasks(of(0)))),
    card(
      t("overview.today"),
      sums(of(0), of(1), of(7), today),
      el("p", { class: "hint" }, uncosted(of(0), `${t("report.margin")}: `)),
      commandLine(commandText("report", { from: today, to: today })),
    ),
    ...byHour,
    card(
      t("overview.money"),
      figures([
        movedFigure("transfer", money, today, today),
        movedFigure("credit", money, today, today),
        movedFigure("bonus", money, today, today),
        movedFigure("voucher", money, today, today),
        movedFigure("refund", money, today, today),
        {
          ...owedFigure(money),
          note: t("money.owed.gifts", { amount: vnd(money.owed_gifts_vnd) }),
        },
      ]),
    ),
    section({
      title: t("overview.days"),
      rows: [...days.rows].reverse(),
      columns: [
        { title: t("day"), cell: dayLink },
        {
          title: t("report.revenue"),
          isNumber: true,
          cell: (row) => sumLink("/report?by=model", row, vnd(row.revenue_vnd)),
        },
        {
          title: t("report.cost"),
          isNumber: true,
          cell: (row) => sumLink("/report?by=provider", row, vndOr(row.cost_vnd)),
        },
        {
          title: t("report.margin"),
          isNumber: true,
          cell: (row) => [
            sumLink("/report?by=account", row, vndOr(row.margin_vnd)),
            el("small", { class: "hint" }, uncosted(row, " ")),
          ],
        },
        {
          title: t("report.calls"),
          isNumber: true,
          cell: (row) => sumLink("/calls?status=", row, number(row.calls)),
        },
        {
          title: t("calls.failed"),
          isNumber: true,
          cell: (row) => sumLink("/calls?status=failed", row, number(row.failed_calls)),
        },
      ],
      none: t("report.none"),
      file: "days",
      command: commandText("report", { by: "day", from: dayBefore(DAYS - 1), to: today }),
    }),
  ];
}

/** The calls of the last 24 hours, if this gateway counts them. */
async function hours(): Promise<HTMLElement[]> {
  if (!hasCommand("traffic")) return [];
  const steps = lastSteps("hour");
  const { rows } = await get<Traffic<TimeRow>>("/traffic", periodOf(steps));
  const title = t("traffic.hours");
  return [
    card(title, timeBars(title, rows, steps), commandLine(commandText("traffic", periodOf(steps)))),
  ];
}

function sums(
  now: SumsRow | undefined,
  yesterday: SumsRow | undefined,
  week: SumsRow | undefined,
  today: string,
): HTMLElement {
  const before = (text: (row: SumsRow) => string) =>
    t("overview.before", {
      yesterday: yesterday ? text(yesterday) : "0",
      week: week ? text(week) : "0",
    });
  const days = `from=${today}&to=${today}`;
  const figure = (name: string, href: string, text: (row: SumsRow) => string, none = vnd(0)) => ({
    name,
    href: BASE + href,
    value: now ? text(now) : none,
    note: before(text),
  });
  const share = now?.margin_percent;
  return figures([
    figure(t("report.revenue"), `/report?by=model&${days}`, ({ revenue_vnd }) => vnd(revenue_vnd)),
    figure(t("report.cost"), `/report?by=provider&${days}`, ({ cost_vnd }) => vndOr(cost_vnd)),
    figure(
      share === null || share === undefined
        ? t("report.margin")
        : `${t("report.margin")} (${percent(share * 100)})`,
      `/report?by=account&${days}`,
      ({ margin_vnd }) => vndOr(margin_vnd),
    ),
    figure(t("report.calls"), `/calls?${days}`, ({ calls }) => number(calls), "0"),
    figure(
      t("calls.failed"),
      `/calls?status=failed&${days}`,
      ({ failed_calls }) => number(failed_calls),
      "0",
    ),
  ]);
}

function dayLink(row: SumsRow): HTMLElement {
  const { day = "" } = row;
  return sumLink("/report?by=model", row, dayLong(day));
}

/** A sum of a day, which leads to its rows. */
function sumLink(path: string, { day = "" }: SumsRow, text: string): HTMLElement {
  return el("a", { href: `${BASE}${path}&from=${day}&to=${day}` }, text);
}

/** Says how many calls a margin leaves out, with a link to them; false if it leaves out none. */
function uncosted(row: SumsRow | undefined, before: string): Child {
  if (!row || row.unknown_cost_calls === 0) return false;
  const text = t("report.uncosted.without", { count: row.unknown_cost_calls });
  return [before, sumLink("/calls?cost=unknown", row, text)];
}

function vndOr(amount: string | null): string {
  return amount === null ? t("unknown") : vnd(amount);
}
