import { dayOf } from "../../core/plugin/index.ts";

/** When a bank booked a transfer: the day in Vietnam, and the instant if the text has a time too. */
interface BankTime {
  readonly day: string;
  readonly at: Date | undefined;
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
/** Spreadsheets write noon as 12:00 PM or 12:00 CH. */
const CLOCK = String.raw`(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.\d+)?)?(?: ?(?<half>AM|PM|SA|CH)\b)? ?(?<zone>Z|[+-]\d{2}:?\d{2})?`;
const DAY = String.raw`(?<day>\d{1,2})[/.-](?<month>\d{1,2})[/.-](?<year>\d{4})`;
const FORMS = [
  String.raw`(?<year>\d{4})[/.-](?<month>\d{1,2})[/.-](?<day>\d{1,2})(?:[T ]+${CLOCK})?`,
  `${DAY}(?:[ ,]+${CLOCK})?`,
  `${CLOCK}[ ,]+${DAY}`,
  // Of `21/11/26` no one knows which number is the year.
  String.raw`(?<day>\d{1,2})[ /.-](?<month>${MONTHS.join("|")})[a-z]*[ /.,-]+(?<year>20\d\d|\d\d)(?:[ ,]+${CLOCK})?`,
].map((form) => new RegExp(String.raw`^${form}(?!\d)`, "i"));

const BEGINNING = new RegExp(`^(?:\\d|${MONTHS.join("|")})`, "i");

/** Returns true if a text is meant as a day, even if it cannot be read. */
export function beginsAsDay(text: string): boolean {
  return BEGINNING.test(text);
}

/**
 * Reads a time in Vietnam: `2026-11-21 14:02:37`, `21/11/2026`, `14:02 21/11/2026`, `21-Nov-26`, or with a zone of its own.
 * Days come before months. Returns undefined if the text does not begin with a date, and null if it is one that does not exist.
 */
export function readBankTime(text: string): BankTime | null | undefined {
  const found = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) return undefined;
  const { year = "", day = "", minute = "00", second = "00", zone = "+07:00" } = found;
  const month = MONTHS.indexOf(found["month"]?.toLowerCase() ?? "") + 1 || found["month"];
  const date = `${year.padStart(4, "20")}-${`${month}`.padStart(2, "0")}-${day.padStart(2, "0")}`;
  const clock = `${hourOf(found).padStart(2, "0")}:${minute}:${second}`;
  const instant = new Date(`${date}T${clock}${zone.toUpperCase()}`);
  // Of February 30, Date makes March 2.
  const isReal = new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) === true;
  if (!isReal || Number.isNaN(instant.getTime())) return null;
  return { day: dayOf(instant), at: found["hour"] === undefined ? undefined : instant };
}

/** Returns the hour of 24. */
function hourOf({ hour = "00", half }: Readonly<Record<string, string | undefined>>): string {
  if (half === undefined || Number(hour) > 12) return hour;
  return String((Number(hour) % 12) + (/PM|CH/i.test(half) ? 12 : 0));
}
