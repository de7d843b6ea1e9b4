import type { Field } from "../plugin/plugin.ts";
import type { PlacedPlugin } from "./plugins.ts";
import type { Path } from "./problem.ts";

/** `first` must come before `second` in the list of plugins. */
interface Pair {
  readonly first: PlacedPlugin;
  readonly second: PlacedPlugin;
  /** The field that `first` sets and `second` requires or takes; undefined if `second` names `first` in `after`. */
  readonly field: Field | undefined;
}

interface Misplaced {
  readonly at: Path;
  readonly message: string;
}

/**
 * Returns a message for each misplaced plugin, with the right order. Reports the plugin that several others need
 * before them; if only one does, reports that one.
 */
export function misplaced(placed: readonly PlacedPlugin[]): Misplaced[] {
  const pairs = pairsOf(placed);
  const index = new Map(placed.map((plugin, at) => [plugin, at]));
  const position = (plugin: PlacedPlugin) => index.get(plugin) ?? -1;
  const wrong = pairs.filter(({ first, second }) => position(first) > position(second));
  if (wrong.length === 0) return [];
  const sorted = inOrder(placed, pairs);
  const advice = sorted
    ? orderOf(sorted.map(nameOf))
    : "no order is possible, because the plugins require each other";

  const found: Misplaced[] = [];
  const late = [...new Set(wrong.map(({ first }) => first))].filter(
    (first) => new Set(wrong.filter((pair) => pair.first === first).map(nameOfSecond)).size > 1,
  );
  for (const first of late) {
    const names = new Set(wrong.filter((pair) => pair.first === first).map(nameOfSecond));
    const message = `expected ${nameOf(first)} before ${[...names].join(", ")}; ${advice}`;
    found.push({ at: first.at, message });
  }
  const rest = wrong.filter(({ first }) => !late.includes(first));
  for (const second of new Set(rest.map((pair) => pair.second))) {
    const needs = rest.filter((pair) => pair.second === second).map(reasonOf);
    const message = `expected ${nameOf(second)} after ${[...new Set(needs)].join(", ")}; ${advice}`;
    found.push({ at: second.at, message });
  }
  return found;
}

/** Returns the order as part of an error message. */
export function orderOf(names: readonly string[]): string {
  return `the right order is ${names.join(", ")}`;
}

const nameOf = ({ loaded }: PlacedPlugin) => loaded.name;
const nameOfSecond = ({ second }: Pair) => nameOf(second);

function reasonOf({ first, field }: Pair): string {
  return field === undefined ? nameOf(first) : `${nameOf(first)}, which sets ${field}`;
}

function pairsOf(placed: readonly PlacedPlugin[]): Pair[] {
  const pairs: Pair[] = [];
  for (const second of placed) {
    const { after = [], sets = [], takes = [] } = second.loaded.module;
    for (const first of placed) {
      if (first === second) continue;
      if (after.includes(nameOf(first))) pairs.push({ first, second, field: undefined });
      for (const field of [...requiredOf(second, placed), ...takes]) {
        const { module } = first.loaded;
        if (!module.sets?.includes(field)) continue;
        // Two plugins that both replace the value of a field may come in either order.
        if (sets.includes(field) && module.requires?.includes(field)) continue;
        pairs.push({ first, second, field });
      }
    }
  }
  return pairs;
}

/** Returns what a plugin requires. `upstream` implies `model` if no plugin sets `upstream`: core derives it. */
function requiredOf({ loaded }: PlacedPlugin, placed: readonly PlacedPlugin[]): readonly Field[] {
  const { requires = [] } = loaded.module;
  if (!requires.includes("upstream") || requires.includes("model")) return requires;
  const translated = placed.some((plugin) => plugin.loaded.module.sets?.includes("upstream"));
  return translated ? requires : [...requires, "model"];
}

/** Sorts the plugins so that in every pair the first comes before the second; undefined if pairs form a cycle. */
function inOrder(
  placed: readonly PlacedPlugin[],
  pairs: readonly Pair[],
): PlacedPlugin[] | undefined {
  const sorted: PlacedPlugin[] = [];
  const open = new Set<PlacedPlugin>();
  const put = (plugin: PlacedPlugin): boolean => {
    if (sorted.includes(plugin)) return true;
    if (open.has(plugin)) return false;
    open.add(plugin);
    const before = pairs.filter(({ second }) => second === plugin).map(({ first }) => first);
    if (!before.every(put)) return false;
    sorted.push(plugin);
    return true;
  };
  const named = (plugin: PlacedPlugin) =>
    pairs.some(({ first, second }) => first === plugin || second === plugin);
  return placed.filter(named).every(put) ? sorted : undefined;
}
