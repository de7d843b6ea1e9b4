import { currentLanguage } from "./text.ts";

const TIME_ZONE = "Asia/Ho_Chi_Minh";
const formats = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

/** An amount of đ. Small ones keep decimals that say something; the exact text is for `title`. */
export function vnd(amount: string | number): string {
  return `${vndNumber(amount)} đ`;
}

export function vndNumber(amount: string | number): string {
  const value = Number(amount);
  const size = Math.abs(value);
  const decimals = size === 0 || size >= 1000 ? 0 : size >= 1 ? 2 : 4;
  return number(value, decimals);
}

/** A number with at most so many decimals. */
export function number(value: number, decimals = 0): string {
  return formatter(`n${decimals}`, () => {
    return new Intl.NumberFormat(locale(), { maximumFractionDigits: decimals });
  }).format(value);
}

/** 1.2 M, 35 K: where the size counts and not the last digit. */
export function compact(value: number): string {
  return formatter("compact", () => {
    return new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 });
  }).format(value);
}

/** 150 bps: 1.5%. */
export function percent(bps: number): string {
  return `${number(bps / 100, 2)}%`;
}

export function dateTime(iso: string): string {
  return timeFormatter("dateTime", {
    day: "2-digit",
    month: "2-digit",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  }).format(new Date(iso));
}

export function dateTimeExact(iso: string): string {
  return timeFormatter("exact", {
    day: "2-digit",
    month: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(new Date(iso));
}

export function date(iso: string): string {
  return timeFormatter("date", { day: "2-digit", month: "2-digit", year: "numeric" }).format(
    new Date(iso),
  );
}

/** 21/11 of `2026-11-21`. */
export function dayShort(day: string): string {
  const [, month, date] = day.split("-");
  return currentLanguage() === "vi" ? `${date}/${month}` : `${month}/${date}`;
}

/** The day in Vietnam, so many days before now: `2026-11-21`. */
export function dayBefore(days: number, now = Date.now()): string {
  return new Date(now + 7 * 3_600_000 - days * 86_400_000).toISOString().slice(0, 10);
}

/** How long ago, in words: "3 minutes ago". */
export function ago(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return format.format(0, "second");
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

export function seconds(ms: number): string {
  return ms < 1000 ? `${number(ms)} ms` : `${number(ms / 1000, 1)} s`;
}

function locale(): string {
  return currentLanguage() === "vi" ? "vi-VN" : "en-GB";
}

function timeFormatter(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return formatter(name, () => {
    return new Intl.DateTimeFormat(locale(), { ...options, timeZone: TIME_ZONE });
  });
}

/** Making one takes longer than a thousand uses of it. */
function formatter<Format extends Intl.NumberFormat | Intl.DateTimeFormat>(
  name: string,
  make: () => Format,
): Format {
  const key = `${locale()} ${name}`;
  const known = formats.get(key) as Format | undefined;
  if (known) return known;
  const made = make();
  formats.set(key, made);
  return made;
}
