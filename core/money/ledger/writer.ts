import { type LedgerProgress, LedgerWentBack } from "../ledger-history.ts";

/** The data that counts a commit: the writer, and the count last confirmed to it. */
export interface CommitStamp {
  readonly writer: string;
  readonly confirmed: number;
}

/** The count of a writer's commits with this one, and the generation of the ledger to which it belongs. */
export interface CommitCount {
  readonly commits: number;
  readonly generation: number;
}

/**
 * Counts this process's commits to the ledger: see `LedgerHistory`. Of each writer one commit runs at a time. Otherwise two
 * commits could get the counts of two that the ledger lost, whose late replies would then confirm what it lacks.
 */
export class LedgerWriter {
  private generation = 0;
  /** The counts that this generation has confirmed. */
  private counts = new Map<string, number>();
  /** Writers of this generation of which no commit runs. */
  private idle: string[] = [];

  constructor(private readonly uuid: () => string) {}

  get confirmed(): LedgerProgress {
    return { generation: this.generation, commits: new Map(this.counts) };
  }

  /** Drops the counts of earlier generations, and goes on with new writers. */
  enter(generation: number): void {
    if (generation <= this.generation) return;
    this.generation = generation;
    this.counts = new Map();
    this.idle = [];
  }

  /** Runs a commit. `counted` is undefined if it had nothing to count. */
  async run<Result extends { readonly counted: CommitCount | undefined }>(
    commit: (stamp: CommitStamp) => Promise<Result>,
  ): Promise<Result> {
    const { idle } = this;
    const writer = idle.pop() ?? this.uuid();
    const confirmed = this.counts.get(writer) ?? 0;
    try {
      const result = await commit({ writer, confirmed });
      const { counted } = result;
      if (counted) this.confirm(writer, counted);
      else idle.push(writer);
      return result;
    } catch (error) {
      // The count of this writer never rises again, so it keeps showing that the ledger lost commits.
      if (!(error instanceof LedgerWentBack)) idle.push(writer);
      throw error;
    }
  }

  private confirm(writer: string, { commits, generation }: CommitCount): void {
    this.enter(generation);
    if (generation < this.generation) return;
    this.counts.set(writer, commits);
    this.idle.push(writer);
  }
}
