import type { Services } from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";

interface Families {
  /** Model id by family, from the options or the catalogue. */
  readonly ids: ReadonlyMap<string, string>;
  /** The family whose model serves unknown names; undefined if there is no family. */
  readonly defaultName: string | undefined;
}

/** Returns the families of the options; without any, those of the catalogue. */
export function familiesOf(
  { families, default_family }: Pick<Settings, "families" | "default_family">,
  catalogue: Services["catalogue"],
): Families {
  const ids = families ? new Map(Object.entries(families)) : newestOf(catalogue);
  const [first] = ids.keys();
  return { ids, defaultName: default_family ?? (ids.has(USUAL) ? USUAL : first) };
}

const USUAL = "opus";
/** Matches a family and its version, as in `claude-opus-5-5`. */
const VERSIONED = /^claude-([a-z]+)-(\d+(?:-\d+)*)$/;

/** Returns the newest model of each family by the version in its id, in catalogue order. */
function newestOf({ models }: Services["catalogue"]): Map<string, string> {
  const newest = new Map<string, { readonly id: string; readonly version: readonly number[] }>();
  for (const { id } of models) {
    const [, family, digits] = VERSIONED.exec(id) ?? [];
    if (family === undefined || digits === undefined) continue;
    const version = digits.split("-").map(Number);
    const known = newest.get(family);
    if (!known || isNewer(version, known.version)) newest.set(family, { id, version });
  }
  return new Map(Array.from(newest, ([family, { id }]) => [family, id]));
}

function isNewer(version: readonly number[], than: readonly number[]): boolean {
  for (let at = 0; at < Math.max(version.length, than.length); at++) {
    const difference = (version[at] ?? 0) - (than[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
