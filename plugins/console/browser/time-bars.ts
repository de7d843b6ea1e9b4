import { type Child, el, svg } from "../../page-parts/browser/dom.ts";
import { dateTime, minuteOf, number } from "../../page-parts/browser/format.ts";
import { BASE } from "./base.ts";
import type { TimeRow } from "./contract.ts";
import { t } from "./text.ts";

const WIDTH = 560;
const HEIGHT = 72;
/** A single failure among a thousand calls is seen. */
const HEIGHT_MIN = 3;
const PARTS = ["served", "failed", "refused"] as const;
type Part = (typeof PARTS)[number];

/** A period by minute or hour: its steps begin at `fromMs`, and the last one is running. */
export interface Steps {
  readonly by: "minute" | "hour";
  readonly stepMs: number;
  readonly fromMs: number;
  readonly count: number;
}

/** Returns the last 60 minutes, or the last 24 hours. */
export function lastSteps(by: Steps["by"]): Steps {
  const [stepMs, count] = by === "minute" ? [60_000, 60] : [3_600_000, 24];
  const now = Date.now();
  return { by, stepMs, count, fromMs: now - (now % stepMs) - (count - 1) * stepMs };
}

/** Returns the query of a period that ends now. */
export function periodOf({ fromMs }: Steps): { readonly from: string } {
  return { from: minuteOf(fromMs) };
}

/** Returns the address of the rows that a count is of, from `fromMs` until `toMs`. */
export function rowsOf(part: Part, fromMs: number, toMs: number, upstream?: string): string {
  const of = {
    ...(upstream !== undefined && { upstream }),
    ...{ from: minuteOf(fromMs), to: minuteOf(toMs) },
  };
  const isCause = part === "refused" || (part === "failed" && upstream !== undefined);
  if (isCause) return `${BASE}/traffic?${new URLSearchParams({ by: "cause", ...of })}`;
  const query = new URLSearchParams({ ...(part === "failed" && { status: "failed" }), ...of });
  return `${BASE}/calls?${query}`;
}

/** A part of a bar: its colour, its size in any unit, and the rows that it leads to. */
interface BarPart {
  readonly kind: string;
  readonly size: number;
  readonly text: string;
  readonly href: string;
}

/** Bars side by side, each of parts from the bottom up; a part is a link, but not for the keyboard. */
export function stackedBars(label: string, bars: readonly (readonly BarPart[])[]): Child {
  const sizeOf = (bar: readonly BarPart[]) => bar.reduce((sum, { size }) => sum + size, 0);
  const most = bars.reduce((max, bar) => Math.max(max, sizeOf(bar)), 1e-6);
  const room = HEIGHT - HEIGHT_MIN * (bars[0]?.length ?? 0);
  const width = WIDTH / bars.length;
  const drawn = bars.map((bar, place) => {
    let y = HEIGHT;
    return bar.map(({ kind, size, text, href }) => {
      if (size <= 0) return false;
      const height = Math.max(HEIGHT_MIN, (size / most) * room);
      y -= height;
      const x = place * width + width * 0.1;
      return svg(
        "a",
        { href, tabindex: -1, "aria-label": text },
        svg("rect", { class: kind, x, y, width: width * 0.8, height }, svg("title", {}, text)),
      );
    });
  });
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "group",
      "aria-label": label,
      preserveAspectRatio: "none",
    },
    svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
    drawn,
  );
}

/**
 * A bar for each step, each part of it a link to its rows. The keyboard and screen readers take the table that the caption
 * leads to: sixty links would stand in their way.
 */
export function timeBars(
  label: string,
  rows: readonly TimeRow[],
  { by, stepMs, fromMs, count }: Steps,
  upstream?: string,
): HTMLElement {
  const byTime = new Map(rows.map((row) => [Date.parse(row.at), row]));
  const toMs = fromMs + count * stepMs;
  const bars = Array.from({ length: count }, (_, place) => {
    const atMs = fromMs + place * stepMs;
    const row = byTime.get(atMs);
    return PARTS.map((kind) => {
      const size = row?.[kind] ?? 0;
      const text = `${dateTime(new Date(atMs).toISOString())}: ${partText(kind, size)}`;
      return { kind, size, text, href: rowsOf(kind, atMs, atMs + stepMs, upstream) };
    });
  });
  const table = new URLSearchParams({
    ...{ by, ...(upstream !== undefined && { upstream }) },
    ...{ from: minuteOf(fromMs), to: minuteOf(toMs) },
  });
  return el(
    "figure",
    { class: "day-bars time-bars" },
    stackedBars(label, bars),
    el(
      "figcaption",
      {},
      el("span", {}, minuteOf(fromMs).slice(11)),
      el("span", { class: "row" }, PARTS.map(total)),
      el("a", { href: `${BASE}/traffic?${table}` }, t("traffic.table")),
    ),
  );

  /** The sum of a part, which says its colour too. */
  function total(part: Part): Child {
    const calls = rows.reduce((sum, row) => sum + row[part], 0);
    if (calls === 0 && part !== "served") return false;
    return el(
      "a",
      { href: rowsOf(part, fromMs, toMs, upstream) },
      el("span", { class: `swatch ${part}` }),
      " ",
      partText(part, calls),
    );
  }
}

function partText(part: Part, calls: number): string {
  return `${t(`traffic.${part}`)} ${number(calls)}`;
}
