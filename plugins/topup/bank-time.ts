import { dayOf } from "../../core/plugin/index.ts";

/** When a bank booked a transfer: the day in Vietnam, and the instant if the text has a time too. */
interface BankTime {
  readonly day: string;
  readonly at: Date | undefined;
}

const CLOCK = String.raw`(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}))?`;
const FORMS = [
  new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?:[T ]+${CLOCK})?(?!\d)`),
  new RegExp(
    String.raw`^(?<day>\d{1,2})[/.-](?<month>\d{1,2})[/.-](?<year>\d{4})(?:[ ,]+${CLOCK})?(?!\d)`,
  ),
  new RegExp(
    String.raw`^${CLOCK}[ ,]+(?<day>\d{1,2})[/.-](?<month>\d{1,2})[/.-](?<year>\d{4})(?!\d)`,
  ),
];
const ZONE = /(?:Z|[+-]\d{2}:?\d{2})$/;

/**
 * Reads a time in Vietnam: `2026-11-21 14:02:37`, `21/11/2026`, `14:02 21/11/2026`, or with a zone of its own. Days come
 * before months. Returns undefined if the text does not begin with a date, and null if it is one that does not exist.
 */
export function readBankTime(text: string): BankTime | null | undefined {
  const found = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) return undefined;
  const { year = "", month = "", day = "", hour, minute = "00", second = "00" } = found;
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  const clock = `${(hour ?? "00").padStart(2, "0")}:${minute}:${second}`;
  const zone = hour === undefined ? "+07:00" : (ZONE.exec(text)?.[0] ?? "+07:00");
  const instant = new Date(`${date}T${clock}${zone}`);
  // Of February 30, Date makes March 2.
  const isReal = new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) === true;
  if (!isReal || Number.isNaN(instant.getTime())) return null;
  return { day: dayOf(instant), at: hour === undefined ? undefined : instant };
}
