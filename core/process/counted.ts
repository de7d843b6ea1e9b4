interface Count {
  readonly of: string;
  readonly sizeOf: () => number;
}

/** Holds a count for as long as its collection lives: what reads a size may itself refer to the collection. */
const counts = new WeakMap<object, Count[]>();
const all = new Set<WeakRef<object>>();
const gone = new FinalizationRegistry<WeakRef<object>>((held) => all.delete(held));

/** Counts the entries of a collection that lives as long as the process, for `sizes`. Returns the collection. */
export function counted<T extends { readonly size: number }>(of: string, collection: T): T;
/** The same of an object that replaces its collections. Returns the object. */
export function counted<T extends object>(of: string, owner: T, sizeOf: (owner: T) => number): T;
export function counted<T extends { readonly size?: number }>(
  of: string,
  owner: T,
  sizeOf: (owner: T) => number = ({ size }) => size ?? 0,
): T {
  const count = { of, sizeOf: () => sizeOf(owner) };
  const before = counts.get(owner);
  if (before) before.push(count);
  else {
    counts.set(owner, [count]);
    const held = new WeakRef<object>(owner);
    all.add(held);
    gone.register(owner, held);
  }
  return owner;
}

/** Returns how many entries the counted collections have, by what they hold. */
export function sizes(): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const held of all) {
    const owner = held.deref();
    for (const { of, sizeOf } of (owner && counts.get(owner)) ?? []) {
      sums[of] = (sums[of] ?? 0) + sizeOf();
    }
  }
  return sums;
}
