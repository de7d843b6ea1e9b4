import type { LedgerWatch } from "../ledger-watch.ts";
import type { Bucket } from "./bucket.ts";
import type { Membership } from "./membership.ts";
import { NotMember } from "./session.ts";

interface LostCountsOptions {
  readonly memberships: ReadonlyMap<Bucket, Membership>;
  readonly watch: LedgerWatch;
  /** Runs the next round of a bucket now. */
  readonly hurry: (membership: Membership) => void;
}

/**
 * Keeps wallets from outliving the counts of the ledger. The first bucket has the counts. A bucket gets a new epoch when
 * its data may be lost, and of a cluster, the node of the first bucket may have lost its data alone.
 */
export class LostCounts {
  private readonly options: LostCountsOptions;
  /** The other buckets, while this process ends their epochs. */
  private doubted: readonly Membership[] | undefined;

  constructor(options: LostCountsOptions) {
    this.options = options;
  }

  /**
   * Call it before a bucket gets a new epoch. Rejects if the first bucket must wait. A process that has compared the
   * counts keeps them again. Any other cannot know if the ledger went back since: it ends the epochs of all others.
   */
  async beginning(bucket: Bucket): Promise<void> {
    const { memberships, watch } = this.options;
    const [first] = memberships.keys();
    if (bucket !== first) return;
    if (watch.hasCompared) return watch.keepAgain();
    this.doubted ??= this.doubtOthers();
    // A node that does not reply may be down for long. Its buckets stay in doubt until it replies.
    if (this.doubted.some((each) => each.doubt.isOpen && each.failures === 0)) {
      throw new NotMember(bucket.name);
    }
    this.doubted = undefined;
  }

  private doubtOthers(): readonly Membership[] {
    const [, ...others] = this.options.memberships.values();
    for (const each of others) {
      each.doubt.raise();
      this.options.hurry(each);
    }
    return others;
  }
}
