import { MICRO_VND_MAX, requireMicroVnd } from "../../catalogue/amount.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import type { Balances, CreditTotal, LoadedVersion, WalletSnapshot } from "../hold-store.ts";
import { LIFETIMES } from "../lifetimes.ts";
import { ofKey, walletKey } from "../purse.ts";
import { type Bucket, isJoining, NotMember } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import { asReply } from "./operations.ts";

const LOAD_ATTEMPTS = 3;
/** Hash fields per scan, for all wallets. A wallet or a purse has up to six. */
const PAGE = 5_000;
/** The field with the count of closes: see `close.lua`. No account has an empty id. */
const CLOSES = ":closes";
/** The field of a version. */
const VERSION = /^(.*):v$/s;

/** Loads, credits, closes and reads the wallets and purses in Redis. */
export class RedisWallets {
  private readonly loading = new Map<string, Promise<boolean>>();

  constructor(
    private readonly client: RedisCommands,
    private readonly buckets: BucketMap,
  ) {}

  /** See `HoldStore.load`. Concurrent loads of one wallet run as one. */
  load(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
    purse?: string,
  ): Promise<boolean> {
    const key = walletKey(accountId, purse);
    const running = this.loading.get(key);
    if (running !== undefined) return running;
    const bucket = this.buckets.of(accountId);
    const load = this.loadNow(bucket, key, read).finally(() => this.loading.delete(key));
    this.loading.set(key, load);
    return load;
  }

  /**
   * See `HoldStore.credit`. Call it as soon as the ledger was read. Waits for `kept`. Rejects if a new epoch began in between, perhaps
   * because the ledger went back and was restored while this process was frozen: what was read is not in the ledger any more.
   */
  async credit(movement: CreditTotal, kept: Promise<void>): Promise<boolean> {
    const { accountId, creditVersion, creditedMicroVnd } = movement;
    const bucket = this.buckets.of(accountId);
    const { epoch } = bucket;
    await kept;
    const amounts = [creditVersion, creditedMicroVnd, MICRO_VND_MAX].map(String);
    const [kind] = await bucket.asMember(async () => {
      if (bucket.epoch !== epoch) throw new NotMember(bucket.name);
      return bucket.run("credit", [], [accountId, ...amounts], asReply);
    });
    if (kind === "range")
      throw new RangeError(
        `the balance of account ${accountId} would exceed ${MICRO_VND_MAX} µđ; credit less`,
      );
    return kind !== "short";
  }

  async balances(accountId: string, purse?: string | null): Promise<Balances | undefined> {
    const bucket = this.buckets.of(accountId);
    await bucket.whenReady();
    return this.read(bucket, walletKey(accountId, purse));
  }

  /** See `HoldStore.forget`. The first close notes what is available, the second one closes the wallet if that is the same. */
  async forget(accountId: string, purse: string | null, nowMs: number): Promise<boolean> {
    const bucket = this.buckets.of(accountId);
    await bucket.whenReady();
    const key = walletKey(accountId, purse);
    const close = () => bucket.run("close", [], [String(nowMs), "0", key], asReply);
    await close();
    await close();
    return (await this.read(bucket, key)) === undefined;
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
    bucket: Bucket,
    key: string,
    read: () => Promise<WalletSnapshot | undefined>,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      await bucket.whenLoadable(LIFETIMES.loadTimeoutMs);
      const { epoch } = bucket;
      const [available, closes] = listOf(
        await this.client.call("HMGET", bucket.epochKeys.wallets, `${key}:a`, CLOSES),
      );
      if (available !== null) return true;
      // A read that begins now includes every post. The bucket accepts loads only once all posts of earlier epochs are
      // in the ledger, and no call can be posted for a wallet that is not loaded.
      const snapshot = await read();
      if (snapshot === undefined) return false;
      failpoint("wallet.read");
      const balance = Number(snapshot.balanceMicroVnd);
      // A purse is below zero.
      requireMicroVnd(Math.abs(balance));
      try {
        const { creditVersion, creditedMicroVnd, uncoveredMicroVnd = 0n } = snapshot;
        const credited = creditedMicroVnd + uncoveredMicroVnd;
        const fields = [key, String(balance), String(creditVersion), String(credited)];
        fields.push(textOf(closes ?? ""));
        // Posts of that epoch were committed after this read.
        if (bucket.epoch !== epoch) throw new NotMember(bucket.name);
        const [kind] = await bucket.run("load", [bucket.epochKeys.acceptsLoads], fields, asReply);
        failpoint("wallet.loaded");
        if (kind === "loaded") return true;
      } catch (error) {
        if (!isJoining(error)) throw error;
      }
      if (attempt >= LOAD_ATTEMPTS)
        throw new Error(`the wallet of ${key} changed during ${LOAD_ATTEMPTS} loads; try again`);
    }
  }

  private async read(bucket: Bucket, key: string): Promise<Balances | undefined> {
    const fields = ["a", "h", "p"].map((part) => `${key}:${part}`);
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

/** Reads fields and values, in turns. */
function versionsOf(pairs: readonly unknown[]): LoadedVersion[] {
  const versions: LoadedVersion[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const [, key] = VERSION.exec(textOf(pairs[at])) ?? [];
    if (key === undefined) continue;
    versions.push({ ...ofKey(key), version: Number(textOf(pairs[at + 1])) });
  }
  return versions;
}
