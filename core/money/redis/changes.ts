import { MICRO_VND_MAX } from "../../catalogue/amount.ts";
import type { CreditTotal, WalletSnapshot } from "../hold-store.ts";
import { type Bucket, NotMember } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import { asReply, type Reply } from "./operations.ts";
import type { LedgerLookup } from "./store-options.ts";

const CHANGE_ATTEMPTS = 3;

/** Applies movements that are in the ledger to the wallets in Redis. */
export class RedisChanges {
  constructor(
    private readonly buckets: BucketMap,
    private readonly ledger: Pick<LedgerLookup, "wallet">,
  ) {}

  /**
   * See `HoldStore.credit`. Call it as soon as the ledger was read. Waits for `kept`. If a new epoch begins in between, the
   * ledger is read again.
   */
  async credit(movement: CreditTotal, kept: Promise<void>): Promise<boolean> {
    const bucket = this.buckets.of(movement.accountId);
    let { epoch } = bucket;
    await kept;
    let total = movement;
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      const { accountId, creditVersion, creditedMicroVnd } = total;
      const amounts = [creditVersion, creditedMicroVnd, MICRO_VND_MAX].map(String);
      const reply = await inEpoch(bucket, epoch, [accountId, ...amounts]);
      if (reply?.[0] === "range")
        throw new RangeError(
          `the balance of account ${accountId} would exceed ${MICRO_VND_MAX} µđ; credit less`,
        );
      if (reply !== undefined) return reply[0] !== "short";
      ({ epoch } = bucket);
      total = await this.walletWith(total);
    }
    throw new NotMember(bucket.name);
  }

  /** Reads the wallet of a total again. Throws if the ledger has lost its last movement. */
  private async walletWith({ accountId, creditVersion }: CreditTotal): Promise<WalletSnapshot> {
    const wallet = await this.ledger.wallet(accountId);
    if (wallet === undefined || wallet.creditVersion < creditVersion)
      throw new Error(
        `the ledger was restored from before the change of the balance of account ${accountId}; make the change again`,
      );
    return wallet;
  }
}

/**
 * Applies what was read from the ledger in this epoch; returns undefined in a later one. That may have begun because the
 * ledger went back and was restored while this process was frozen: what was read is not in the ledger any more.
 */
function inEpoch(
  bucket: Bucket,
  epoch: string,
  fields: readonly string[],
): Promise<Reply | undefined> {
  return bucket.asMember(async () =>
    bucket.epoch === epoch ? bucket.run("credit", [], fields, asReply) : undefined,
  );
}
