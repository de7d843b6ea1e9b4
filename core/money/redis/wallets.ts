import { requireMicroVnd } from "../../catalogue/amount.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import type { Balances, LimitBalances, LoadedVersion, WalletSnapshot } from "../hold-store.ts";
import { requireLimit } from "../limit.ts";
import { asReply, type Bucket, isJoining, NotMember } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";

const LOAD_ATTEMPTS = 3;
/** Hash fields per scan, for all wallets. A wallet has six, and five more for each limit. */
const PAGE = 5_000;
/** The field with the count of closes: see `close.lua`. No account has an empty id. */
const CLOSES = ":closes";
/** The field of a version: of a wallet, or of the limit that is named. */
const VERSION = /^([^|]*?)(?:\|(.*):l|:)v$/s;

/** Loads, closes and reads the wallets and limits in Redis. */
export class RedisWallets {
  private readonly client: RedisCommands;
  private readonly buckets: BucketMap;
  private readonly loading = new Map<string, Promise<boolean>>();

  constructor(client: RedisCommands, buckets: BucketMap) {
    this.client = client;
    this.buckets = buckets;
  }

  /** See `HoldStore.load`. Concurrent loads of one wallet run as one. */
  load(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean> {
    const running = this.loading.get(accountId);
    if (running !== undefined) return running;
    const load = this.loadNow(accountId, read).finally(() => this.loading.delete(accountId));
    this.loading.set(accountId, load);
    return load;
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
      uncommittedMicroVnd: Number(textOf(uncommitted)),
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
