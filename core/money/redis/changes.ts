import { MICRO_VND_MAX } from "../../catalogue/amount.ts";
import { textOf } from "../../redis/reply.ts";
import type { CreditTotal, LimitSnapshot, WalletSnapshot } from "../hold-store.ts";
import { requireLimit } from "../limit.ts";
import { asReply, type Bucket, NotMember, type Reply } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import type { LedgerLookup } from "./store-options.ts";

const CHANGE_ATTEMPTS = 3;

/** Applies movements and limits that are in the ledger to the wallets in Redis. */
export class RedisChanges {
  private readonly buckets: BucketMap;
  private readonly ledger: Pick<LedgerLookup, "wallet">;

  constructor(buckets: BucketMap, ledger: Pick<LedgerLookup, "wallet">) {
    this.buckets = buckets;
    this.ledger = ledger;
  }

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
      const reply = await inEpoch(bucket, epoch, "credit", [accountId, ...amounts]);
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
      throw lost("the balance", accountId);
    return wallet;
  }

  /** See `HoldStore.setLimit`, and `credit` for `kept`. */
  async setLimit(accountId: string, limit: LimitSnapshot, kept: Promise<void>): Promise<boolean> {
    const bucket = this.buckets.of(accountId);
    let { epoch } = bucket;
    await kept;
    let wanted = limit;
    let count = "";
    for (let attempt = 1; attempt <= CHANGE_ATTEMPTS; attempt += 1) {
      requireLimit(wanted);
      const { name, version, totalMicroVnd, availableMicroVnd } = wanted;
      const amounts = [version, totalMicroVnd, availableMicroVnd].map(String);
      const args = [accountId, name, ...amounts, count];
      const reply = await inEpoch(bucket, epoch, "set-limit", args);
      if (reply !== undefined) {
        if (reply[0] !== "unset") return reply[0] !== "unknown";
        if (Number(textOf(reply[1])) > 0) break;
        // The charges that were missing are in the ledger by now. Read it again, since the earlier reading may lack them.
        count = textOf(reply[2]);
      } else count = "";
      ({ epoch } = bucket);
      const wallet = await this.ledger.wallet(accountId);
      const again = wallet?.limits?.find((each) => each.name === limit.name);
      if (again === undefined) return true;
      if (again.version < limit.version) throw lost(`limit ${limit.name}`, accountId);
      wanted = again;
    }
    throw new Error(
      `charges of limit ${limit.name} from before it was set are not committed yet; try again`,
    );
  }
}

/**
 * Applies what was read from the ledger in this epoch; returns undefined in a later one. That may have begun because the
 * ledger went back and was restored while this process was frozen: what was read is not in the ledger any more.
 */
function inEpoch(
  bucket: Bucket,
  epoch: string,
  operation: "credit" | "set-limit",
  args: readonly string[],
): Promise<Reply | undefined> {
  return bucket.asMember(async () =>
    bucket.epoch === epoch ? bucket.run(operation, [], args, asReply) : undefined,
  );
}

function lost(what: string, accountId: string): Error {
  return new Error(
    `the ledger was restored from before the change of ${what} of account ${accountId}; make the change again`,
  );
}
