/** An epoch of a bucket of the hold store, as the ledger has it. */
export interface LedgerEpoch {
  /** `<counter>-<random>`; "" before the first. */
  readonly name: string;
  /** True if the ledger went back to before the last epoch, so perhaps it does not know all members. */
  readonly isRestored: boolean;
  /** The gateways that may have posts that the ledger lacks, each with the last epoch that it entered. */
  readonly members: ReadonlyMap<string, string>;
}

/**
 * The epochs of the hold store in Redis, and the gateways in them: in the ledger, which outlives Redis. Each method is one
 * transaction. `core/money/redis/README.md` says when an epoch ends, and what it takes to open one.
 */
export interface LedgerEpochs {
  read(bucket: string): Promise<LedgerEpoch>;
  /** Begins an epoch if the last one is still `before`. Of two gateways one gets true. */
  begin(bucket: string, before: string, name: string, isRestored: boolean): Promise<boolean>;
  /** Makes a gateway a member of this epoch, and of no other. Returns false if it is not the last one. */
  enter(bucket: string, name: string, gateway: string): Promise<boolean>;
  /** Removes gateways whose posts are in an outbox. */
  leave(bucket: string, gateways: readonly string[]): Promise<void>;
  /**
   * Opens an epoch, and removes the members that have not entered it: the ledger refuses their commits from then on.
   * Returns false, and changes nothing, if another gateway than those in `removable` has not entered it.
   */
  open(bucket: string, name: string, removable: readonly string[]): Promise<boolean>;
}

/**
 * The gateway that commits was removed from the epoch of its entries, since it was silent while Redis lost its data.
 * Nothing was committed; the entries are posted again.
 */
export class MembershipEnded extends Error {
  constructor(options?: ErrorOptions) {
    super(
      "this gateway is not a member of the epoch of these calls any more; they are posted again",
      options,
    );
    this.name = "MembershipEnded";
  }
}
