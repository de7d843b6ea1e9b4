import { randomUUID } from "node:crypto";
import {
  type CommitCount,
  type CommitStamp,
  LedgerWriter,
} from "../../core/money/ledger/writer.ts";
import {
  type LedgerHistory,
  type LedgerProgress,
  type LedgerState,
  LedgerWentBack,
} from "../../core/money/ledger-history.ts";

/** The counts that a ledger keeps of its commits, as `count_commit` and its tables do. */
export class CommitCounts {
  /** The name of the ledger. */
  id = "memory-ledger";
  generation = 0;
  readonly counts = new Map<string, number>();

  /** Runs and counts a commit. Throws LedgerWentBack, and does not run it, if commits of this writer are missing. */
  run<T>({ writer, confirmed }: CommitStamp, work: () => T): { result: T; counted: CommitCount } {
    const commits = (this.counts.get(writer) ?? 0) + 1;
    if (commits <= confirmed) throw new LedgerWentBack();
    const result = work();
    this.counts.set(writer, commits);
    return { result, counted: { commits, generation: this.generation } };
  }

  begin(after: number): void {
    this.generation = Math.max(this.generation, after) + 1;
  }

  read(): LedgerState {
    const { id, generation, counts } = this;
    return { id, generation, commits: new Map(counts), recent: new Set(counts.keys()) };
  }

  copy(): CommitCounts {
    const copy = new CommitCounts();
    copy.id = this.id;
    copy.generation = this.generation;
    for (const [writer, count] of this.counts) copy.counts.set(writer, count);
    return copy;
  }
}

/** The history of a ledger in memory, as one gateway sees it. */
export class MemoryHistory implements LedgerHistory {
  readonly writer: LedgerWriter;

  constructor(
    private readonly counts: () => CommitCounts = () => NONE,
    uuid: () => string = randomUUID,
  ) {
    this.writer = new LedgerWriter(uuid);
  }

  get confirmed(): LedgerProgress {
    return this.writer.confirmed;
  }

  enter(generation: number): void {
    this.writer.enter(generation);
  }

  async read(): Promise<LedgerState> {
    return this.counts().read();
  }

  /** All writers count as recent, so none is old. */
  async forgetOld(_kept: readonly string[]): Promise<void> {}

  async beginGeneration(after: number): Promise<void> {
    this.counts().begin(after);
  }

  /** Counts a commit of nothing. */
  async commit(): Promise<void> {
    await this.writer.run(async (stamp) => this.counts().run(stamp, () => {}));
  }
}

const NONE = new CommitCounts();
