import { dayBefore } from "../../page-parts/browser/format.ts";

/** Days that have a bar on the overview. */
export const BAR_DAYS = 14;

/** The query for sums by day of this month, and of at least the days that have a bar. */
export function dailySums(): { by: string; from: string } {
  const month = firstOfMonth();
  const [from = month] = [month, dayBefore(BAR_DAYS - 1)].sort();
  return { by: "day", from };
}

export function firstOfMonth(): string {
  return `${dayBefore(0).slice(0, 7)}-01`;
}
