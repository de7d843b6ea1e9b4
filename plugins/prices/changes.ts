import { formatVnd, type Services } from "../../core/plugin/index.ts";
import { vietnamTime } from "../page-parts/vietnam-time.ts";

export type PriceEntry = ReturnType<Services["reloads"]["prices"]>[number];

/** One line of the table that an operator sees before a reload counts, and of the history. */
export interface PriceChange {
  readonly change: "new" | "gone" | "changed" | "announced" | "withdrawn";
  readonly model: string | null;
  readonly kind: string;
  readonly unit: string;
  /** In millionths of the unit; null for what is new. */
  readonly before: number | null;
  /** Null for what is gone. */
  readonly after: number | null;
  /** When an announced price takes effect, as ISO 8601. */
  readonly takesEffect: string | null;
}

/** All kinds of a price per token: if they change alike, one line says so. */
const TOKENS: readonly string[] = ["input", "cached_input", "cache_write", "output"];

/** Returns a list of prices as it is at an instant: announced ones whose time has come replace those before them. */
export function inEffect(list: readonly PriceEntry[], nowMs: number): PriceEntry[] {
  const due = list.filter(({ from }) => from !== null && Date.parse(from) <= nowMs);
  const replaced = new Set(due.map((entry) => keyOf({ ...entry, from: null })));
  return list.flatMap((entry) => {
    if (due.includes(entry)) return [{ ...entry, from: null }];
    return replaced.has(keyOf(entry)) ? [] : [entry];
  });
}

/** Returns what differs between two lists of prices, in the order of the second. */
export function changesBetween(
  before: readonly PriceEntry[],
  after: readonly PriceEntry[],
): PriceChange[] {
  const old = new Map(before.map((entry) => [keyOf(entry), entry]));
  const now = new Map(after.map((entry) => [keyOf(entry), entry]));
  const gone = before.filter((entry) => !now.has(keyOf(entry)));
  const changed = after.filter((one) => old.get(keyOf(one))?.millionths !== one.millionths);
  const changes = [
    ...changed.map((entry) => {
      const own = { ...entry, from: null };
      const from = entry.from === null ? old.get(keyOf(entry)) : (now.get(keyOf(own)) ?? null);
      return changeOf(entry, from?.millionths ?? null, entry.millionths);
    }),
    ...gone.map((entry) => changeOf(entry, entry.millionths, null)),
  ];
  return together(changes);
}

/** Returns the change in percent, with at most two decimals; null if there is none to state. */
export function percentOf({ before, after }: Pick<PriceChange, "before" | "after">): number | null {
  if (before === null || after === null || before === 0) return null;
  return Math.round(((after - before) / before) * 10_000) / 100;
}

/** Returns a change for people: `glm-5 input`, and `changed: 10 → 12 đ (+20 %)`. */
export function inWords(change: PriceChange): [name: string, text: string] {
  const { model, kind, unit, before, after, takesEffect } = change;
  const shown = (amount: number | null) => (amount === null ? "none" : formatVnd(amount));
  const percent = percentOf(change);
  const share = percent === null ? "" : ` (${percent > 0 ? "+" : ""}${percent} %)`;
  const from =
    takesEffect === null ? "" : ` from ${vietnamTime(new Date(takesEffect)).slice(0, 16)}`;
  const name = [model, kind].filter((part) => part !== null).join(" ");
  return [`${name}${from}`, `${change.change}: ${shown(before)} → ${shown(after)} ${unit}${share}`];
}

function changeOf(
  { model, kind, unit, from }: PriceEntry,
  before: number | null,
  after: number | null,
): PriceChange {
  const common = { model, kind, unit, before, after, takesEffect: from };
  if (from !== null) return { ...common, change: after === null ? "withdrawn" : "announced" };
  if (before === null) return { ...common, change: "new" };
  return { ...common, change: after === null ? "gone" : "changed" };
}

/** Replaces the four lines of a model whose tokens all change alike by one. */
function together(changes: readonly PriceChange[]): PriceChange[] {
  const likeOf = (one: PriceChange) =>
    TOKENS.includes(one.kind) ? JSON.stringify({ ...one, kind: "tokens" }) : undefined;
  const counts = new Map<string | undefined, number>();
  for (const one of changes) counts.set(likeOf(one), (counts.get(likeOf(one)) ?? 0) + 1);
  return changes.flatMap((one) => {
    const like = likeOf(one);
    if (like === undefined || counts.get(like) !== TOKENS.length) return [one];
    return one.kind === TOKENS[0] ? [{ ...one, kind: "tokens" }] : [];
  });
}

function keyOf({ model, kind, unit, from }: PriceEntry): string {
  return JSON.stringify([model, kind, unit, from]);
}
