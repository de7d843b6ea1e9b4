/** Offset of Vietnam. Customers see days there: UTC+7 all year, without summer time since 1975. */
const OFFSET_MS = 7 * 3_600_000;
const DAY_MS = 86_400_000;

/** Returns the day in Vietnam, as the database writes it: `2026-11-21`. */
export function dayOf(time: Date): string {
  return new Date(time.getTime() + OFFSET_MS).toISOString().slice(0, 10);
}

/** Returns the last day in Vietnam of a period that ends before this instant. */
export function lastDayBefore(end: Date): string {
  return dayOf(new Date(end.getTime() - 1));
}

/** Returns the first instant of a day in Vietnam. */
export function startOfDay(day: string): Date {
  return new Date(Date.parse(`${day}T00:00:00Z`) - OFFSET_MS);
}

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?$/;

/**
 * Returns the instant of a day or time in Vietnam, in milliseconds since the Unix epoch: `2026-12-01` (its first instant),
 * `2026-12-01T09:00` or with seconds. Undefined if the text is neither.
 */
export function instantOf(text: string): number | undefined {
  if (!TIME.test(text)) return undefined;
  const [day = "", time = "00:00"] = text.split("T");
  const ms = Date.parse(`${day}T${time}Z`);
  // The 30th of February is no day, though some parsers take it for one of March.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day) return undefined;
  return ms - OFFSET_MS;
}

/** Returns the first instant after the month of a day in Vietnam. */
export function endOfMonth(day: string): Date {
  const [year = 0, month = 0] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month, 1) - OFFSET_MS);
}

/** Returns the first instant after a day in Vietnam. */
export function endOfDay(day: string): Date {
  return new Date(startOfDay(day).getTime() + DAY_MS);
}
