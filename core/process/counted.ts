interface Counted {
  readonly of: string;
  readonly size: () => number | undefined;
}

const all = new Set<Counted>();
const gone = new FinalizationRegistry<Counted>((counted) => all.delete(counted));

/** Counts the entries of a collection that lives as long as the process, for `sizes`. Returns the collection. */
export function counted<T extends { readonly size: number }>(of: string, collection: T): T;
/** The same of an object that replaces its collections. Returns the object. */
export function counted<T extends object>(of: string, owner: T, sizeOf: (owner: T) => number): T;
export function counted<T extends { readonly size?: number }>(
  of: string,
  owner: T,
  sizeOf: (owner: T) => number = ({ size }) => size ?? 0,
): T {
  const held = new WeakRef(owner);
  const entry = {
    of,
    size: () => {
      const live = held.deref();
      return live && sizeOf(live);
    },
  };
  all.add(entry);
  gone.register(owner, entry);
  return owner;
}

/** Returns how many entries the counted collections have, by what they hold. */
export function sizes(): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { of, size } of all) sums[of] = (sums[of] ?? 0) + (size() ?? 0);
  return sums;
}
