import type { Key, Member } from "./contract.ts";

/**
 * Returns the name of each key by its id, so that no two have the same: with its prefix if the pages or people named others so
 * too. `members`: those whose addresses stand beside the names of their keys.
 */
export function keyNames(
  keys: readonly Key[],
  members: readonly Member[],
): ReadonlyMap<string, string> {
  const emails = new Map(members.map(({ id, email }) => [id, email]));
  const named = (key: Key) => [key.name, emails.get(key.member ?? "")].filter(Boolean).join(" · ");
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(named(key), (counts.get(named(key)) ?? 0) + 1);
  return new Map(
    keys.map((key) => {
      const name = named(key);
      return [key.id, counts.get(name) === 1 ? name : `${name} (${key.prefix})`];
    }),
  );
}
