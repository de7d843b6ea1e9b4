import { MICRO_VND_MAX } from "../../catalogue/amount.ts";
import { textOf } from "../../redis/reply.ts";
import type { CreditTotal, LimitSnapshot, WalletSnapshot } from "../hold-store.ts";
import { requireLimit } from "../limit.ts";
import { type MovementHold, movementOf } from "../movement-hold.ts";
import { asReply, type Bucket, NotMember, type Reply } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import type { LedgerLookup } from "./store-options.ts";
import { amountOf } from "./view.ts";

/** More than one retry is needed only if another movement is committed between the lookup of the holds and its end. */
const CREDIT_ATTEMPTS = 5;
const LIMIT_ATTEMPTS = 3;

/** Applies movements and limits that are in the ledger to the wallets in Redis. */
export class RedisChanges {
  private readonly buckets: BucketMap;
  private readonly ledger: Pick<LedgerLookup, "wallet" | "credited">;

  constructor(buckets: BucketMap, ledger: Pick<LedgerLookup, "wallet" | "credited">) {
    this.buckets = buckets;
    this.ledger = ledger;
  }

  /**
   * See `HoldStore.credit`. A total that the wallet does not afford includes movements of other gateways, whose money is
   * still in their holds. Movements that the ledger has are then applied together: if each gateway waited for the others
   * to release their holds, none would be applied.
   *
   * Call it as soon as the ledger was read. Waits for `kept`. If a new epoch begins in between, the ledger is read again.
   */
  async credit(movement: CreditTotal, kept?: Promise<void>): Promise<boolean> {
    const bucket = this.buckets.of(movement.accountId);
    let { epoch } = bucket;
    await kept;
    let total = movement;
    for (let attempt = 1; ; attempt += 1) {
      const held = await this.creditNow(total, epoch);
      if (held === "applied") return true;
      if (held === "later epoch") {
        if (attempt >= CREDIT_ATTEMPTS) throw new NotMember(bucket.name);
        ({ epoch } = bucket);
        total = { ...(await this.walletWith(total)), releasedCallIds: total.releasedCallIds };
        continue;
      }
      if (attempt >= CREDIT_ATTEMPTS) return false;
      const together = await this.withCommitted(total, held);
      if (together === undefined) return false;
      total = together;
    }
  }

  /** Returns the holds of all movements of the account if the wallet does not afford the total. */
  private async creditNow(
    total: CreditTotal,
    epoch: string,
  ): Promise<"applied" | "later epoch" | MovementHold[]> {
    const { accountId, creditVersion, creditedMicroVnd, releasedCallIds } = total;
    const bucket = this.buckets.of(accountId);
    const args = [
      accountId,
      String(creditVersion),
      String(creditedMicroVnd),
      String(MICRO_VND_MAX),
      ...releasedCallIds,
    ];
    const reply = await inEpoch(bucket, epoch, "credit", args);
    if (reply === undefined) return "later epoch";
    const [kind, ...rest] = reply;
    if (kind === "range")
      throw new RangeError(
        `the balance of account ${accountId} would exceed ${MICRO_VND_MAX} µđ; credit less`,
      );
    if (kind !== "short") return "applied";
    const held: MovementHold[] = [];
    for (let at = 0; at < rest.length; at += 2) {
      held.push({ callId: textOf(rest[at]), accountId, amountMicroVnd: amountOf(rest[at + 1]) });
    }
    return held;
  }

  /** Adds to a total the held movements that the ledger has; undefined if it has no others. */
  private async withCommitted(
    total: CreditTotal,
    held: readonly MovementHold[],
  ): Promise<CreditTotal | undefined> {
    const releasedCallIds = [...total.releasedCallIds];
    let wallet: WalletSnapshot | undefined;
    for (const hold of held) {
      if (total.releasedCallIds.includes(hold.callId)) continue;
      const earlier = await this.ledger.credited(movementOf(hold));
      if (earlier?.kind !== "credited") continue;
      releasedCallIds.push(hold.callId);
      // Read after each lookup, so the last one has every movement that was found.
      wallet = earlier.wallet;
    }
    return wallet && { ...wallet, releasedCallIds };
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
    for (let attempt = 1; attempt <= LIMIT_ATTEMPTS; attempt += 1) {
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
