import { dayBefore, dayLong, dayShort } from "../../../page-parts/browser/format.ts";
import type { Sum } from "../contract.ts";

/** The days of one bar, first and last included. */
export interface Bar {
  readonly first: string;
  readonly last: string;
}

/** Values per bar and name; each name is a layer of the chart. */
export interface Stack {
  readonly unit: "day" | "week" | "month";
  readonly bars: readonly Bar[];
  /** Largest total first. If there are too many, the last one sums up the small ones. */
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
}

/** Maximum layers: readers cannot tell more apart. */
const SERIES_MAX = 6;
const DAY_MS = 86_400_000;
const DAYS_MAX = 3_660;
/** More bars are too thin to tell apart. */
const DAY_BARS_MAX = 62;
const WEEK_BARS_MAX = 27;

export function stackOf(
  sums: readonly Sum[],
  period: { readonly from: string; readonly to: string },
  nameOf: (sum: Sum) => string,
  measured: (sum: Sum) => number,
  others: string,
): Stack {
  const days = daysOf(sums, period);
  const unit = unitOf(days.length);
  const bars: { first: string; last: string }[] = [];
  const positions = new Map<string, number>();
  for (const day of days) {
    const bar = bars.at(-1);
    if (bar && startOf(day, unit) === startOf(bar.first, unit)) bar.last = day;
    else bars.push({ first: day, last: day });
    positions.set(day, bars.length - 1);
  }
  const byName = new Map<string, number[]>();
  for (const sum of sums) {
    const at = positions.get(sum.day ?? "");
    if (at === undefined) continue;
    const name = nameOf(sum);
    const values = byName.get(name) ?? bars.map(() => 0);
    values[at] = (values[at] ?? 0) + measured(sum);
    byName.set(name, values);
  }
  const total = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const all = [...byName]
    .map(([name, values]) => ({ name, values }))
    .sort((a, b) => total(b.values) - total(a.values));
  if (all.length <= SERIES_MAX) return { unit, bars, series: all };
  const rest = all.slice(SERIES_MAX - 1);
  const values = bars.map((_, at) => rest.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  return { unit, bars, series: [...all.slice(0, SERIES_MAX - 1), { name: others, values }] };
}

/** Returns the name of a bar: `21/11/2026`, `16/11 – 22/11/2026`, `11/2026`. */
export function barName({ unit }: Stack, { first, last }: Bar): string {
  if (unit === "month") return dayLong(first.slice(0, 7));
  return first === last ? dayLong(first) : `${dayShort(first)} – ${dayLong(last)}`;
}

/** Returns the label below a bar. It has the year if not all bars are of this year. */
export function barLabel({ unit, bars }: Stack, { first }: Bar): string {
  if (unit === "month") return dayLong(first.slice(0, 7));
  const thisYear = dayBefore(0).slice(0, 4);
  const hasYear =
    bars[0]?.first.slice(0, 4) !== thisYear || bars.at(-1)?.last.slice(0, 4) !== thisYear;
  return hasYear ? `${dayShort(first)}/${first.slice(2, 4)}` : dayShort(first);
}

function unitOf(days: number): Stack["unit"] {
  if (days <= DAY_BARS_MAX) return "day";
  return days <= (WEEK_BARS_MAX - 1) * 7 ? "week" : "month";
}

/** Returns the first day of the day's week, which begins on Monday, or of its month. */
function startOf(day: string, unit: Stack["unit"]): string {
  if (unit === "day") return day;
  if (unit === "month") return day.slice(0, 7);
  const time = Date.parse(day);
  const fromMonday = (new Date(time).getUTCDay() + 6) % 7;
  return new Date(time - fromMonday * DAY_MS).toISOString().slice(0, 10);
}

/** Returns every day of the period. A day without calls keeps its place in the chart. */
function daysOf(
  sums: readonly Sum[],
  { from, to }: { readonly from: string; readonly to: string },
): string[] {
  const known = sums.map((sum) => sum.day ?? "").sort();
  const first = from || (known[0] ?? dayBefore(0));
  const last = to || dayBefore(0);
  const days: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last) && days.length < DAYS_MAX; at += DAY_MS) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}
