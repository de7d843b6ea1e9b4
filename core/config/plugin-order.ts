import type { Field } from "../contract/plugin.ts";
import type { PlacedPlugin } from "./plugins.ts";
import type { Path } from "./problem.ts";

/** Two plugins of which `first` must stand before `second`, and why. */
interface Pair {
  readonly first: PlacedPlugin;
  readonly second: PlacedPlugin;
  /** The field that `first` sets and `second` requires or takes; undefined if `second` asks for it by name. */
  readonly field: Field | undefined;
}

interface Misplaced {
  readonly at: Path;
  readonly message: string;
}

/**
 * The plugins that stand in a wrong place, with the right order in words. Blames the plugin that several others
 * need before them, and otherwise the one that stands before what it needs.
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
    : "no order is right, since what they state contradicts itself";

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

/** The order in words. */
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
        // Two plugins that each put another value in a field's place may stand in either order.
        if (sets.includes(field) && module.requires?.includes(field)) continue;
        pairs.push({ first, second, field });
      }
    }
  }
  return pairs;
}

/** What a plugin requires; with `upstream` also `model`, which core needs if no plugin sets `upstream`. */
function requiredOf({ loaded }: PlacedPlugin, placed: readonly PlacedPlugin[]): readonly Field[] {
  const { requires = [] } = loaded.module;
  if (!requires.includes("upstream") || requires.includes("model")) return requires;
  const translated = placed.some((plugin) => plugin.loaded.module.sets?.includes("upstream"));
  return translated ? requires : [...requires, "model"];
}

/** The plugins that some pair names, each directly behind what must stand before it; undefined if no order is right. */
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
