/** Offset of Vietnam. Customers see days there: UTC+7 all year, without summer time since 1975. */
const OFFSET_MS = 7 * 3_600_000;
const DAY_MS = 86_400_000;

/** Returns the day in Vietnam, as the database writes it: `2026-11-21`. */
export function dayOf(time: Date): string {
  return new Date(time.getTime() + OFFSET_MS).toISOString().slice(0, 10);
}

/** Returns the first instant of a day in Vietnam. */
export function startOfDay(day: string): Date {
  return new Date(Date.parse(`${day}T00:00:00Z`) - OFFSET_MS);
}

/** Returns the first instant after a day in Vietnam. */
export function endOfDay(day: string): Date {
  return new Date(startOfDay(day).getTime() + DAY_MS);
}
