import type { Sum } from "../contract.ts";
import { dayBefore } from "../format.ts";

/** Values per day and name; each name is a layer of the chart. */
export interface Stack {
  readonly days: readonly string[];
  /** Largest total first. If there are too many, the last one sums up the small ones. */
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
}

/** Maximum layers: readers cannot tell more apart. */
const SERIES_MAX = 6;
const DAY_MS = 86_400_000;
const DAYS_MAX = 3_660;

export function stackOf(
  sums: readonly Sum[],
  period: { readonly from: string; readonly to: string },
  nameOf: (sum: Sum) => string,
  measured: (sum: Sum) => number,
  others: string,
): Stack {
  const days = daysOf(sums, period);
  const positions = new Map(days.map((day, at) => [day, at]));
  const byName = new Map<string, number[]>();
  for (const sum of sums) {
    const at = positions.get(sum.day ?? "");
    if (at === undefined) continue;
    const name = nameOf(sum);
    const values = byName.get(name) ?? days.map(() => 0);
    values[at] = (values[at] ?? 0) + measured(sum);
    byName.set(name, values);
  }
  const total = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const all = [...byName]
    .map(([name, values]) => ({ name, values }))
    .sort((a, b) => total(b.values) - total(a.values));
  if (all.length <= SERIES_MAX) return { days, series: all };
  const rest = all.slice(SERIES_MAX - 1);
  const values = days.map((_, at) => rest.reduce((sum, one) => sum + (one.values[at] ?? 0), 0));
  return { days, series: [...all.slice(0, SERIES_MAX - 1), { name: others, values }] };
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
