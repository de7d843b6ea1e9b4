import { currentLanguage, type SharedText, t } from "./text.ts";

/** UTC+7, without daylight saving time. */
const VIETNAM_MS = 7 * 3_600_000;
const formats = new Map<string, Intl.NumberFormat>();

/**
 * Formats an amount of đ, rounded; small amounts keep decimals. Show the exact amount in `title`.
 */
export function vnd(amount: string | number): string {
  return `${vndNumber(amount)} đ`;
}

/** Formats an amount of đ with all its decimals, down to 0.000001 đ. */
export function exactVnd(amount: string): string {
  return `${number(Number(amount), 6)} đ`;
}

export function vndNumber(amount: string | number): string {
  const value = Number(amount);
  const size = Math.abs(value);
  if (size >= 1000 || Number.isInteger(value)) return number(value);
  return size >= 1 ? number(value, 2, 2) : number(value, 4, 2);
}

/** Formats a number with `decimalsMin` to `decimals` decimals. */
export function number(value: number, decimals = 0, decimalsMin = 0): string {
  const options = { maximumFractionDigits: decimals, minimumFractionDigits: decimalsMin };
  return formatter(`n${decimals} ${decimalsMin}`, () => {
    return new Intl.NumberFormat(locale(), options);
  }).format(value);
}

/** Formats a number in short: `3.7 million`, but `931,500`; in Vietnamese `3,7 triệu`, `931,5 nghìn`. */
export function compact(value: number): string {
  // "931.5 thousand" is longer than the number.
  if (currentLanguage() === "en" && Math.abs(value) < 1e6) return number(value);
  return formatter("compact", () => {
    return new Intl.NumberFormat(locale(), {
      notation: "compact",
      compactDisplay: "long",
      maximumFractionDigits: 1,
    });
  }).format(value);
}

/** Formats a token limit as developers write it: `128K`, `1.05M`. */
export function tokenLimit(tokens: number): string {
  if (tokens >= 1e6) return `${number(tokens / 1e6, 2)}M`;
  return tokens >= 1000 ? `${number(tokens / 1000, 1)}K` : number(tokens);
}

/** Formats basis points: 150 is `1.5%`. */
export function percent(bps: number): string {
  return `${number(bps / 100, 2)}%`;
}

/** Formats a time as `21/11/2026 08:30` in Vietnam time. The day comes first in both languages. */
export function dateTime(iso: string): string {
  const { day, month, year, time } = inVietnam(iso);
  return `${day}/${month}/${year} ${time.slice(0, 5)}`;
}

/** Formats a time as `21/11 08:30:59` in Vietnam time. */
export function dateTimeExact(iso: string): string {
  const { day, month, time } = inVietnam(iso);
  return `${day}/${month} ${time}`;
}

export function date(iso: string): string {
  const { day, month, year } = inVietnam(iso);
  return `${day}/${month}/${year}`;
}

/** Formats the day `2026-11-21` as `21/11`. */
export function dayShort(day: string): string {
  const [, month, date] = day.split("-");
  return `${date}/${month}`;
}

/** Formats the day `2026-11-21` as `21/11/2026`. */
export function dayLong(day: string): string {
  return day.split("-").reverse().join("/");
}

/** Formats the month `2026-11` as `November 2026`. */
export function monthName(month: string): string {
  const format = new Intl.DateTimeFormat(locale(), {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
  const text = format.format(new Date(`${month}-01T00:00:00Z`));
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Returns the day in Vietnam `days` days before `now`: `2026-11-21`. */
export function dayBefore(days: number, now = Date.now()): string {
  return new Date(now + VIETNAM_MS - days * 86_400_000).toISOString().slice(0, 10);
}

/** Returns the minute in Vietnam, as addresses and commands take it: `2026-11-21T08:30`. */
export function minuteOf(ms: number): string {
  return new Date(ms + VIETNAM_MS).toISOString().slice(0, 16);
}

/** Formats the time since `iso`: "3 minutes ago". */
export function ago(iso: string): string {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "auto" });
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return t("justnow");
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

function inVietnam(iso: string) {
  const [date = "", time = ""] = new Date(Date.parse(iso) + VIETNAM_MS).toISOString().split("T");
  const [year, month, day] = date.split("-");
  return { year, month, day, time: time.slice(0, 8) };
}

/** Caches formatters: making one takes longer than a thousand uses of it. */
function formatter(name: string, make: () => Intl.NumberFormat): Intl.NumberFormat {
  const key = `${locale()} ${name}`;
  const known = formats.get(key);
  if (known) return known;
  const made = make();
  formats.set(key, made);
  return made;
}

/** Formats what costs more or less than the price: "đầu ra × 4 · đọc từ bộ nhớ đệm × 0,1". */
export function factorsText(factors: Readonly<Record<string, number>>): string {
  return Object.entries(factors)
    .map(([kind, factor]) => `${t(`price.kind.${kind}` as SharedText)} × ${number(factor, 6)}`)
    .join(" · ");
}

/** Formats a price with its unit: "36.000 đ / 1 triệu token". */
export function priceText({
  price_unit,
  price_vnd,
}: {
  readonly price_unit: "mtok" | "call" | "image";
  readonly price_vnd: number;
}): string {
  return t(`price.${price_unit}`, { price: number(price_vnd) });
}
