import type { LedgerProgress } from "./ledger-history.ts";

export const NO_PROGRESS: LedgerProgress = { generation: 0, commits: new Map() };

/** Returns the higher count of each writer. The counts of an earlier generation are void. */
export function merged(one: LedgerProgress, other: LedgerProgress): LedgerProgress {
  if (one.generation !== other.generation) return one.generation > other.generation ? one : other;
  const commits = new Map(one.commits);
  for (const [writer, count] of other.commits) {
    commits.set(writer, Math.max(count, commits.get(writer) ?? 0));
  }
  return { generation: one.generation, commits };
}

/** Returns true if each of these counts is at most the one in `by`. */
export function isCovered(
  counts: ReadonlyMap<string, number>,
  by: ReadonlyMap<string, number>,
): boolean {
  for (const [writer, count] of counts) if (count > (by.get(writer) ?? 0)) return false;
  return true;
}

/** Returns these counts without those of some writers. */
export function without(
  { generation, commits }: LedgerProgress,
  dropped: ReadonlyMap<string, number>,
): LedgerProgress {
  const left = [...commits].filter(([writer, count]) => dropped.get(writer) !== count);
  return { generation, commits: new Map(left) };
}

/** Returns true if `progress` lacks counts of `known`, or is of an earlier generation. */
export function isBehind(progress: LedgerProgress, known: LedgerProgress): boolean {
  if (progress.generation !== known.generation) return progress.generation < known.generation;
  return !isCovered(known.commits, progress.commits);
}
