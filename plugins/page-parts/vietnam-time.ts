/** Vietnam has had no summer time since 1975. */
const OFFSET_MS = 7 * 3_600_000;

/** Returns the time in Vietnam, for people and spreadsheets: `2026-11-21 16:05:09`. */
export function vietnamTime(at: Date): string {
  return new Date(at.getTime() + OFFSET_MS).toISOString().slice(0, 19).replace("T", " ");
}
