/** Vietnam has had no summer time since 1975 (UTC+7 all year), and its days are what customers see. */
const OFFSET_MS = 7 * 3_600_000;
const DAY_MS = 86_400_000;

/** The day in Vietnam of a time, as the database writes days: `2026-11-21`. */
export function dayOf(time: Date): string {
  return new Date(time.getTime() + OFFSET_MS).toISOString().slice(0, 10);
}

/** The first moment of a day in Vietnam. */
export function startOfDay(day: string): Date {
  return new Date(Date.parse(`${day}T00:00:00Z`) - OFFSET_MS);
}

/** The first moment after it. */
export function endOfDay(day: string): Date {
  return new Date(startOfDay(day).getTime() + DAY_MS);
}
