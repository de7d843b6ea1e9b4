/**
 * The number of commits of each writer. A writer is a process that commits to the ledger, and takes
 * a new id once it learns that commits were lost. A number falls only if the ledger lost commits.
 */
export interface LedgerProgress {
  /**
   * Rises when an operator accepts that the ledger lost commits. Numbers of earlier generations are
   * void.
   */
  readonly generation: number;
  /** Counts of commits by writer, a UUID. */
  readonly commits: ReadonlyMap<string, number>;
}

/** The commits of the ledger, as it is now. */
export interface LedgerState extends LedgerProgress {
  /** The ledger itself, a UUID. A copy of its database has the same. */
  readonly id: string;
  /** Writers that committed in the last day. */
  readonly recent: ReadonlySet<string>;
}

/**
 * Compares the commits that the ledger has with those that it had confirmed. `core/money/README.md`
 * says how it is used.
 */
export interface LedgerHistory {
  /** The numbers that the ledger has confirmed to this process, in the latest generation that it knows. */
  readonly confirmed: LedgerProgress;
  /** Forgets what was confirmed in an earlier generation, and takes new writers' ids. */
  enter(generation: number): void;
  /** Returns the commit counts of these writers, and of those active in the last 24 hours. */
  read(writers: readonly string[]): Promise<LedgerState>;
  /**
   * Deletes the numbers of writers without a commit for `writerKeptMs`, except those in `kept`, and says that the writers
   * of this process live. Call it once an hour or so.
   */
  forgetOld(kept: readonly string[]): Promise<void>;
  /** Begins a generation above both the ledger's and `after`. */
  beginGeneration(after: number): Promise<void>;
}

/** The ledger lacks commits that it had confirmed to this process. Nothing was committed. */
export class LedgerWentBack extends Error {
  constructor(options?: ErrorOptions) {
    super("the ledger lacks commits that it had confirmed; retrying as a new writer", options);
    this.name = "LedgerWentBack";
  }
}

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
