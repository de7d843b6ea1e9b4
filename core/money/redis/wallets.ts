import { MICRO_VND_MAX, requireMicroVnd } from "../../contract/amount.ts";
import type {
  Balances,
  CreditTotal,
  LimitBalances,
  LimitSnapshot,
  LoadedVersion,
  WalletSnapshot,
} from "../../contract/hold-store.ts";
import { counted } from "../../process/counted.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { requireLimit } from "../limit.ts";
import { type MovementHold, movementOf } from "../movement-hold.ts";
import type { Bucket } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import type { LedgerLookup } from "./ledger-lookup.ts";
import { asReply, isJoining, NotMember, type Reply } from "./session.ts";
import { amountOf } from "./view.ts";

const LOAD_ATTEMPTS = 3;
/** More than one retry is needed only if another movement is committed between the lookup of the holds and its end. */
const CREDIT_ATTEMPTS = 5;
/** Hash fields per scan, for all wallets. A wallet has six, and five more for each limit. */
const PAGE = 5_000;
/** The field with the count of closes: see `close.lua`. No account has an empty id. */
const CLOSES = ":closes";
/** The field of a version: of a wallet, or of the limit that is named. */
const VERSION = /^([^|]*?)(?:\|(.*):l|:)v$/s;

/** Loads, credits and reads the wallets and limits in Redis. */
export class RedisWallets {
  private readonly client: RedisCommands;
  private readonly buckets: BucketMap;
  private readonly ledger: Pick<LedgerLookup, "wallet" | "credited">;
  private readonly loading = counted("loading_wallets", new Map<string, Promise<boolean>>());

  constructor(
    client: RedisCommands,
    buckets: BucketMap,
    ledger: Pick<LedgerLookup, "wallet" | "credited">,
  ) {
    this.client = client;
    this.buckets = buckets;
    this.ledger = ledger;
  }

  /** See `HoldStore.load`. Concurrent loads of one wallet run as one. */
  load(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean> {
    const running = this.loading.get(accountId);
    if (running !== undefined) return running;
    const load = this.loadNow(accountId, read).finally(() => this.loading.delete(accountId));
    this.loading.set(accountId, load);
    return load;
  }

  /**
   * See `HoldStore.credit`. A total that the wallet does not afford includes movements of other gateways, whose money is
   * still in their holds. Movements that the ledger has are then applied together: if each gateway waited for the others
   * to release their holds, none would be applied.
   *
   * Call it as soon as the ledger was read. Waits for `kept`. Rejects if a new epoch begins in between.
   */
  async credit(movement: CreditTotal, kept?: Promise<void>): Promise<boolean> {
    const { epoch } = this.buckets.of(movement.accountId);
    await kept;
    let total = movement;
    for (let attempt = 1; ; attempt += 1) {
      const held = await this.creditNow(total, epoch);
      if (held === undefined) return true;
      if (attempt >= CREDIT_ATTEMPTS) return false;
      const together = await this.withCommitted(total, held);
      if (together === undefined) return false;
      total = together;
    }
  }

  /** Returns the holds of all movements of the account if the wallet does not afford the total; undefined if it is applied. */
  private async creditNow(total: CreditTotal, epoch: string): Promise<MovementHold[] | undefined> {
    const { accountId, creditVersion, creditedMicroVnd, releasedCallIds } = total;
    const bucket = this.buckets.of(accountId);
    const args = [
      accountId,
      String(creditVersion),
      String(creditedMicroVnd),
      String(MICRO_VND_MAX),
      ...releasedCallIds,
    ];
    const [kind, ...rest] = await inEpoch(bucket, epoch, "credit", args);
    if (kind === "range")
      throw new RangeError(
        `the balance of account ${accountId} would exceed ${MICRO_VND_MAX} µđ; credit less`,
      );
    if (kind !== "short") return undefined;
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

  /** See `HoldStore.setLimit`, and `credit` for `kept`. */
  async setLimit(accountId: string, limit: LimitSnapshot, kept: Promise<void>): Promise<boolean> {
    const bucket = this.buckets.of(accountId);
    const { epoch } = bucket;
    await kept;
    let wanted = limit;
    let count = "";
    for (let attempt = 1; attempt <= LOAD_ATTEMPTS; attempt += 1) {
      requireLimit(wanted);
      const { name, version, totalMicroVnd, availableMicroVnd } = wanted;
      const amounts = [version, totalMicroVnd, availableMicroVnd].map(String);
      const args = [accountId, name, ...amounts, count];
      const reply = await inEpoch(bucket, epoch, "set-limit", args);
      if (reply[0] !== "unset") return reply[0] !== "unknown";
      if (Number(textOf(reply[1])) > 0) break;
      // The charges that were missing are in the ledger by now. Read it again, since the earlier reading may lack them.
      count = textOf(reply[2]);
      const wallet = await this.ledger.wallet(accountId);
      const again = wallet?.limits?.find((each) => each.name === limit.name);
      if (again === undefined) return true;
      wanted = again;
    }
    throw new Error(
      `charges of limit ${limit.name} from before it was set are not committed yet; try again`,
    );
  }

  async dropLimit(accountId: string, name: string): Promise<boolean> {
    const bucket = this.buckets.of(accountId);
    const args = [accountId, name];
    const [kind] = await bucket.asMember(() => bucket.run("drop-limit", [], args, asReply));
    return kind !== "held";
  }

  async limit(accountId: string, name: string): Promise<LimitBalances | undefined> {
    const bucket = this.buckets.of(accountId);
    await bucket.whenReady();
    const fields = ["la", "lh", "lp", "lt"].map((part) => `${accountId}|${name}:${part}`);
    const [available, held, uncommitted, total] = listOf(
      await this.client.call("HMGET", bucket.epochKeys.wallets, ...fields),
    );
    if (typeof available !== "string") return undefined;
    return {
      totalMicroVnd: Number(textOf(total)),
      availableMicroVnd: Number(available),
      heldMicroVnd: Number(textOf(held)),
      // Earlier versions of the gateway set limits without this field.
      uncommittedMicroVnd: typeof uncommitted === "string" ? Number(uncommitted) : 0,
    };
  }

  async balances(accountId: string): Promise<Balances | undefined> {
    const bucket = this.buckets.of(accountId);
    await bucket.whenReady();
    return this.read(bucket, accountId);
  }

  /** Yields versions in pages. If a bucket is not reachable, yields those of all others first, then rejects. */
  async *versions(): AsyncGenerator<LoadedVersion[]> {
    const closedLast = [...this.buckets.all].sort((a, b) => Number(b.isReady) - Number(a.isReady));
    for (const bucket of closedLast) {
      await bucket.whenReady();
      yield* this.versionsIn(bucket, PAGE);
    }
  }

  /** Yields the versions of a bucket in pages. `fields`: how many hash fields Redis looks at for a page. */
  async *versionsIn(bucket: Bucket, fields: number): AsyncGenerator<LoadedVersion[]> {
    let cursor = "0";
    do {
      const args = [bucket.epochKeys.wallets, cursor, "MATCH", "*v", "COUNT", String(fields)];
      const [next, pairs] = listOf(await this.client.call("HSCAN", ...args));
      cursor = textOf(next);
      yield versionsOf(listOf(pairs));
    } while (cursor !== "0");
  }

  private async loadNow(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
  ): Promise<boolean> {
    const bucket = this.buckets.of(accountId);
    for (let attempt = 1; ; attempt += 1) {
      await bucket.whenLoadable();
      const { epoch } = bucket;
      const [available, closes] = listOf(
        await this.client.call("HMGET", bucket.epochKeys.wallets, `${accountId}:a`, CLOSES),
      );
      if (available !== null) return true;
      // A read that begins now includes every post. The bucket accepts loads only once all posts of earlier epochs are
      // in the ledger, and no call can be posted for a wallet that is not loaded.
      const snapshot = await read();
      if (snapshot === undefined) return false;
      failpoint("wallet.read");
      const balance = Number(snapshot.balanceMicroVnd);
      requireMicroVnd(balance);
      try {
        const { creditVersion, creditedMicroVnd, uncoveredMicroVnd = 0n, limits } = snapshot;
        const credited = creditedMicroVnd + uncoveredMicroVnd;
        const args = [accountId, String(balance), String(creditVersion), String(credited)];
        args.push(textOf(closes ?? ""));
        for (const limit of limits ?? []) {
          requireLimit(limit);
          const { name, version, totalMicroVnd, availableMicroVnd } = limit;
          args.push(name, ...[availableMicroVnd, version, totalMicroVnd].map(String));
        }
        // Posts of that epoch were committed after this read.
        if (bucket.epoch !== epoch) throw new NotMember(bucket.name);
        const [kind] = await bucket.run("load", [bucket.epochKeys.acceptsLoads], args, asReply);
        failpoint("wallet.loaded");
        if (kind === "loaded") return true;
      } catch (error) {
        if (!isJoining(error)) throw error;
      }
      if (attempt >= LOAD_ATTEMPTS)
        throw new Error(
          `the wallet of ${accountId} changed during ${LOAD_ATTEMPTS} loads; try again`,
        );
    }
  }

  private async read(bucket: Bucket, accountId: string): Promise<Balances | undefined> {
    const fields = ["a", "h", "p"].map((part) => `${accountId}:${part}`);
    const [available, held, uncommitted] = listOf(
      await this.client.call("HMGET", bucket.epochKeys.wallets, ...fields),
    );
    if (typeof available !== "string") return undefined;
    return {
      availableMicroVnd: Number(available),
      heldMicroVnd: Number(textOf(held)),
      uncommittedMicroVnd: Number(textOf(uncommitted)),
    };
  }
}

/**
 * Applies what was read from the ledger in this epoch, and not in a later one. That may have begun because the ledger went
 * back and was restored while this process was frozen: what was read is not in the ledger any more.
 */
function inEpoch(
  bucket: Bucket,
  epoch: string,
  operation: "credit" | "set-limit",
  args: readonly string[],
): Promise<Reply> {
  return bucket.asMember(() => {
    if (bucket.epoch !== epoch)
      throw new Error(`bucket ${bucket.name} began a new epoch; try again`);
    return bucket.run(operation, [], args, asReply);
  });
}

/** Reads fields and values, in turns. */
function versionsOf(pairs: readonly unknown[]): LoadedVersion[] {
  const versions: LoadedVersion[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const [, accountId, limit = null] = VERSION.exec(textOf(pairs[at])) ?? [];
    if (accountId === undefined) continue;
    versions.push({ accountId, limit, version: Number(textOf(pairs[at + 1])) });
  }
  return versions;
}
