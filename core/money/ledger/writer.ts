import { LedgerWentBack } from "../../contract/ledger.ts";

/** The data that counts a commit: the writer, and the count last confirmed to it. */
export interface CommitStamp {
  readonly writer: string;
  readonly confirmed: number;
}

/**
 * Counts this process's commits to the ledger: see `LedgerHistory`. Of each writer one commit runs at a time. Otherwise two
 * commits could get the counts of two that the ledger lost, whose late replies would then confirm what it lacks.
 */
export class LedgerWriter {
  private readonly uuid: () => string;
  private readonly counts = new Map<string, number>();
  /** Writers of which no commit runs. */
  private idle: string[] = [];

  constructor(uuid: () => string) {
    this.uuid = uuid;
  }

  get confirmed(): ReadonlyMap<string, number> {
    return this.counts;
  }

  forget(): void {
    this.counts.clear();
    this.idle = [];
  }

  /** Runs a commit that returns its count, as `count_commit` does. */
  async run<Result extends { readonly commits: number | bigint }>(
    commit: (stamp: CommitStamp) => Promise<Result>,
  ): Promise<Result> {
    const { idle } = this;
    const writer = idle.pop() ?? this.uuid();
    const confirmed = this.counts.get(writer) ?? 0;
    try {
      const result = await commit({ writer, confirmed });
      const count = Number(result.commits);
      if (idle === this.idle && count > confirmed) this.counts.set(writer, count);
      idle.push(writer);
      return result;
    } catch (error) {
      // The count of this writer never rises again, so it keeps showing that the ledger lost commits.
      if (!(error instanceof LedgerWentBack)) idle.push(writer);
      throw error;
    }
  }
}
