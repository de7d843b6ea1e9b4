import { el } from "./dom.ts";
import { type Field, field } from "./form.ts";
import { date, dayBefore, number, vnd } from "./format.ts";
import { t } from "./text.ts";

/** The limits of an API key, as every API shows them. What is not limited is left out. */
interface KeyLimits {
  readonly paused?: true;
  readonly ends_at?: string;
  readonly models?: readonly string[];
  readonly addresses?: readonly string[];
  readonly day_vnd?: string;
  readonly month_vnd?: string;
  readonly total_vnd?: string;
  readonly calls_per_minute?: number;
  readonly calls_at_once?: number;
}

/** A key with its limits, and what was spent of each budget. */
export interface LimitedKey {
  readonly limits: KeyLimits;
  readonly budgets: readonly {
    readonly period: "day" | "month" | "total";
    readonly limit_vnd: string;
    readonly spent_vnd: string;
  }[];
}

/** Returns true if the key, or the member, is refused since the end that was set. */
export function hasEnded({ ends_at }: KeyLimits): boolean {
  return ends_at !== undefined && Date.parse(ends_at) <= Date.now();
}

/** Returns true if a key with these limits is for a model. */
export function allowsModel({ models }: KeyLimits, id: string): boolean {
  return !models || models.some((pattern) => matches(pattern, id));
}

/** As the gateway's `matchesModel`: `*` in a pattern stands for any characters, and it takes linear time. */
function matches(pattern: string, id: string): boolean {
  const [start = "", ...parts] = pattern.split("*");
  const end = parts.pop();
  if (end === undefined) return pattern === id;
  if (!id.startsWith(start) || !id.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = id.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= id.length - end.length;
}

type Amount = "day_vnd" | "month_vnd" | "total_vnd" | "calls_per_minute" | "calls_at_once";
type List = "models" | "addresses";

/** The fields that limit a key, filled with its limits. An empty field does not limit. */
export function limitFields(limits: KeyLimits = {}): {
  readonly element: HTMLElement;
  /**
   * Returns the limits whose fields differ from `limits`, as the API takes them. Those that are not sent stay as another
   * person, or an end within a day, has set them since.
   */
  changed(): Record<string, unknown>;
} {
  const amount = (name: Amount) =>
    field(t(`keys.limit.${name}`), {
      name,
      inputmode: "numeric",
      autocomplete: "off",
      pattern: "[0-9., ]*",
      maxlength: 16,
      value: limits[name] ?? "",
    });
  const list = (name: List) =>
    field(
      t(`keys.limit.${name}`),
      { name, autocomplete: "off", spellcheck: "false", value: limits[name]?.join(", ") ?? "" },
      t(`keys.limit.${name}.hint`),
    );
  const amounts = {
    day_vnd: amount("day_vnd"),
    month_vnd: amount("month_vnd"),
    total_vnd: amount("total_vnd"),
    calls_per_minute: amount("calls_per_minute"),
    calls_at_once: amount("calls_at_once"),
  };
  const lists = { models: list("models"), addresses: list("addresses") };
  const lastDay = limits.ends_at === undefined ? "" : lastDayOf(limits.ends_at);
  // The other limits of a key that has ended can change too.
  const min = hasEnded(limits) ? lastDay : dayBefore(0);
  const end = field(t("keys.limit.ends_at"), {
    ...{ name: "ends_at", type: "date", min, value: lastDay },
  });
  const { day_vnd, month_vnd, total_vnd, calls_per_minute, calls_at_once } = amounts;
  const element = el(
    "div",
    { class: "stack" },
    el("p", { class: "hint" }, t("keys.limits.lead")),
    el("div", { class: "key-limits" }, [
      ...[day_vnd, month_vnd, total_vnd, end, calls_per_minute, calls_at_once].map(
        (one) => one.element,
      ),
    ]),
    lists.models.element,
    lists.addresses.element,
  );
  return {
    element,
    changed() {
      const given: Record<string, unknown> = {};
      const isChanged = ({ input }: Field) => input.value !== input.defaultValue;
      for (const [name, amount] of Object.entries(amounts)) {
        if (!isChanged(amount)) continue;
        const digits = amount.input.value.replace(/[., ]/g, "");
        given[name] = digits === "" ? null : name.endsWith("_vnd") ? digits : Number(digits);
      }
      for (const [name, list] of Object.entries(lists)) {
        if (!isChanged(list)) continue;
        given[name] = list.input.value.split(/[\s,]+/).filter((item) => item !== "");
      }
      if (isChanged(end)) given["ends_at"] = end.input.value || null;
      return given;
    },
  };
}

/** The limits of a key, each in a few words, and bars that show what was spent of its budgets. */
export function shownLimits({ limits, budgets }: LimitedKey): HTMLElement | false {
  const words = [
    limits.ends_at !== undefined &&
      t("keys.shown.ends_at", { date: date(new Date(beforeEnd(limits.ends_at)).toISOString()) }),
    limits.models && t("keys.shown.models", { models: limits.models.join(", ") }),
    limits.addresses && t("keys.shown.addresses", { addresses: limits.addresses.join(", ") }),
    limits.calls_per_minute !== undefined &&
      t("keys.shown.calls_per_minute", { count: number(limits.calls_per_minute) }),
    limits.calls_at_once !== undefined &&
      t("keys.shown.calls_at_once", { count: number(limits.calls_at_once) }),
  ].filter((text) => typeof text === "string");
  if (words.length === 0 && budgets.length === 0) return false;
  return el(
    "div",
    { class: "key-limits-shown" },
    words.length > 0 && el("p", { class: "hint" }, words.join(" · ")),
    budgets.map(({ period, limit_vnd, spent_vnd }) => {
      const name = t(`keys.budget.${period}`);
      const max = Math.max(1, Number(limit_vnd));
      return el(
        "div",
        { class: "key-budget", title: `${spent_vnd} / ${limit_vnd} đ` },
        el("span", { class: "hint" }, name),
        el("span", {}, t("keys.budget.used", { spent: vnd(spent_vnd), limit: vnd(limit_vnd) })),
        el("progress", { max, value: Math.min(max, Number(spent_vnd)), "aria-label": name }),
      );
    }),
  );
}

/** The last millisecond before the end of a key. */
function beforeEnd(endsAt: string): number {
  return Date.parse(endsAt) - 1;
}

/** Returns the last day of a key in Vietnam, as a field of days has it. */
function lastDayOf(endsAt: string): string {
  return dayBefore(0, beforeEnd(endsAt));
}
