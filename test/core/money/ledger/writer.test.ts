import t from "tap";
import {
  type CommitCount,
  type CommitStamp,
  LedgerWriter,
} from "../../../../core/money/ledger/writer.ts";
import { isCovered } from "../../../../core/money/ledger-history.ts";
import { CommitCounts } from "../../../support/commit-counts.ts";

/** A ledger whose replies come when the test says. */
class SlowLedger {
  counts = new CommitCounts();
  readonly replies: (() => void)[] = [];

  commit = (stamp: CommitStamp): Promise<{ counted: CommitCount }> => {
    const { counted } = this.counts.run(stamp, () => {});
    return new Promise((resolve) => this.replies.push(() => resolve({ counted })));
  };
}

function newWriter(): LedgerWriter {
  let ids = 0;
  return new LedgerWriter(() => `writer ${++ids}`);
}

t.test(
  "commits whose replies come after the ledger went back are not hidden by later ones",
  async (t) => {
    for (const lost of [1, 2, 3]) {
      const ledger = new SlowLedger();
      const writer = newWriter();
      const backup = ledger.counts.copy();
      const late = Array.from({ length: lost }, () => writer.run(ledger.commit));
      const lateReplies = ledger.replies.splice(0);
      ledger.counts = backup;
      const later = Array.from({ length: lost }, () => writer.run(ledger.commit));
      for (const reply of [...ledger.replies.splice(0), ...lateReplies]) reply();
      await Promise.all([...late, ...later]);
      t.equal(
        isCovered(writer.confirmed.commits, ledger.counts.counts),
        false,
        `${lost} at a time`,
      );
    }
  },
);

t.test("a commit that counted nothing leaves the count of its writer", async (t) => {
  const writer = newWriter();
  await writer.run(async () => ({ counted: { commits: 4, generation: 2 } }));
  await writer.run(async () => ({ counted: undefined }));
  t.strictSame([...writer.confirmed.commits], [["writer 1", 4]]);
});

t.test("the first commit of a new generation voids the counts of earlier ones", async (t) => {
  const writer = newWriter();
  await writer.run(async () => ({ counted: { commits: 4, generation: 2 } }));
  await writer.run(async () => ({ counted: { commits: 5, generation: 3 } }));
  await writer.run(async ({ confirmed }) => ({
    counted: { commits: confirmed + 1, generation: 3 },
  }));
  t.strictSame(writer.confirmed, { generation: 3, commits: new Map([["writer 1", 6]]) });
});
