import { LedgerWentBack } from "../../contract/ledger.ts";

/** The data that counts a commit: the writer, and the count last confirmed to it. */
export interface CommitStamp {
  readonly writer: string;
  readonly confirmed: number;
}

/** Counts this process's commits to the ledger: see `LedgerHistory`. */
export class LedgerWriter {
  private readonly uuid: () => string;
  private readonly counts = new Map<string, number>();
  private id: string;

  constructor(uuid: () => string) {
    this.uuid = uuid;
    this.id = uuid();
  }

  get confirmed(): ReadonlyMap<string, number> {
    return this.counts;
  }

  forget(): void {
    this.counts.clear();
    this.id = this.uuid();
  }

  /** Runs a commit that returns its count, as `count_commit` does. */
  async run<Result extends { readonly commits: number | bigint }>(
    commit: (stamp: CommitStamp) => Promise<Result>,
  ): Promise<Result> {
    // Read before the commit is sent: replies to concurrent commits may arrive in any order.
    const { id: writer } = this;
    const confirmed = this.counts.get(writer) ?? 0;
    try {
      const result = await commit({ writer, confirmed });
      const count = Number(result.commits);
      if (writer === this.id && count > (this.counts.get(writer) ?? 0)) {
        this.counts.set(writer, count);
      }
      return result;
    } catch (error) {
      // The count of this writer never rises again, so it keeps showing that the ledger lost commits.
      if (error instanceof LedgerWentBack && writer === this.id) this.id = this.uuid();
      throw error;
    }
  }
}
