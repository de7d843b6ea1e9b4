import { setTimeout as delay } from "node:timers/promises";
import type { OutboxEntry } from "../../contract/hold-store.ts";
import type { Log } from "../../process/log.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import type { RedisClient } from "../../redis/client.ts";
import { asReply, type Bucket } from "./bucket.ts";
import type { Keeper } from "./membership.ts";
import { readOutbox } from "./orphans.ts";
import { outboxOf } from "./place.ts";

/**
 * After its entry has left the outbox a call is remembered for this long: offers that are younger than half
 * of it need not ask the ledger (see `offers.ts`).
 */
const SETTLED_KEPT_MS = "120000";
/** A batch that is not full waits this long for more: an acknowledgement is one command for each bucket in it. */
const GATHER_MS = 50;

interface SettlementOptions {
  readonly client: RedisClient;
  readonly buckets: readonly Bucket[];
  readonly keepers: ReadonlyMap<Bucket, Keeper>;
  readonly leaseMs: number;
  readonly log: Log;
}

/**
 * The way of posted calls to the ledger. Each process settles what it has posted from its memory, where it
 * keeps it until it is committed anyway, in case Redis forgets it; the outbox in Redis is read only for those
 * who died. So nothing is read back or parsed in normal operation, and no two processes settle the same calls.
 */
export class Settlement {
  private readonly options: SettlementOptions;
  private readonly byName: ReadonlyMap<string, Bucket>;
  /** Buckets with entries on their way to the ledger: from a reading until the next one. */
  private readonly handedOut = new Set<Bucket>();
  private next = 0;
  private kept = 0;
  /** Ended by the next post, and by a stop. */
  private readonly pause = new WakeableSleep();
  private stopped = false;

  constructor(options: SettlementOptions) {
    this.options = options;
    this.byName = new Map(options.buckets.map((bucket) => [bucket.name, bucket]));
  }

  /** Calls posted by this process that wait for the ledger. */
  get size(): number {
    return this.kept;
  }

  keep(bucket: Bucket, entry: OutboxEntry): void {
    if (!bucket.unsettled.has(entry.entryId)) this.kept += 1;
    bucket.unsettled.set(entry.entryId, entry);
    this.pause.wake();
  }

  /** The entry of a call of this process; undefined if it is not kept (any more). */
  find(callId: string): OutboxEntry | undefined {
    for (const { unsettled } of this.options.buckets) {
      for (const entry of unsettled.values()) if (entry.posting.callId === callId) return entry;
    }
    return undefined;
  }

  /** Gives up what is kept for a bucket, and answers it. */
  release(bucket: Bucket): OutboxEntry[] {
    const entries = [...bucket.unsettled.values()];
    bucket.unsettled.clear();
    this.kept -= entries.length;
    return entries;
  }

  /** There may be something to read: the outbox of a dead process. */
  rouse(): void {
    this.pause.wake();
  }

  isSettling(bucket: Bucket): boolean {
    return this.handedOut.has(bucket);
  }

  async read(max: number, waitMs: number): Promise<OutboxEntry[]> {
    this.handedOut.clear();
    if (waitMs > 0 && !this.stopped && this.kept < max) {
      if (this.kept === 0) {
        const entries = await this.gather(max);
        if (entries.length > 0) return entries;
        await this.pause.sleep(waitMs);
      }
      if (this.kept > 0) await delay(Math.min(GATHER_MS, waitMs));
    }
    return this.gather(max);
  }

  stop(): void {
    this.stopped = true;
    this.pause.wake();
  }

  /** Never rejects: what Redis does not hear now, it hears later or never needs to. */
  async acknowledge(entries: readonly OutboxEntry[]): Promise<void> {
    const byOutbox = new Map<string, OutboxEntry[]>();
    for (const entry of entries) {
      const outbox = outboxOf(entry);
      const group = byOutbox.get(outbox);
      if (group) group.push(entry);
      else byOutbox.set(outbox, [entry]);
    }
    await Promise.all([...byOutbox].map(([outbox, group]) => this.acknowledgeGroup(outbox, group)));
    this.handedOut.clear();
  }

  /** Acknowledges what could not be while Redis was away. */
  async payOwed(bucket: Bucket): Promise<void> {
    const { owed } = bucket;
    bucket.owed = [];
    if (owed.length > 0) await this.acknowledge(owed);
  }

  private async acknowledgeGroup(outbox: string, entries: readonly OutboxEntry[]): Promise<void> {
    const [bucketName = "", epoch = "", process = ""] = outbox.split("|");
    const bucket = this.byName.get(bucketName);
    if (bucket === undefined) return;
    for (const { entryId } of entries) if (bucket.unsettled.delete(entryId)) this.kept -= 1;
    // Nothing was ever in Redis of an entry without a place there.
    if (process === "") return;
    const isCurrent = epoch === bucket.epoch;
    const orphan = `${epoch}|${process}`;
    const keeper = this.options.keepers.get(bucket);
    const isOrphan = keeper?.claimed.has(orphan) ?? false;
    if (!isCurrent && !isOrphan) return;
    if (bucket.state !== "ready") {
      if (!isOrphan) bucket.owed.push(...entries);
      return;
    }
    try {
      const keys = [bucket.outboxOf(epoch, process)];
      const args = [isCurrent ? "1" : "0", SETTLED_KEPT_MS];
      for (const { entryId, posting, chargedMicroVnd } of entries) {
        keys.push(bucket.callKey(posting.callId));
        args.push(entryId.slice(outbox.length + 1), posting.accountId, String(chargedMicroVnd));
      }
      await bucket.run("acknowledge", keys, args, asReply);
    } catch {
      if (!isOrphan) bucket.owed.push(...entries);
    }
  }

  private async gather(max: number): Promise<OutboxEntry[]> {
    const { buckets } = this.options;
    const entries: OutboxEntry[] = [];
    // Each reading begins at another bucket, so that a full one does not keep the others waiting.
    this.next = (this.next + 1) % buckets.length;
    for (let at = 0; at < buckets.length && entries.length < max; at += 1) {
      const bucket = buckets[(this.next + at) % buckets.length];
      if (bucket === undefined || bucket.unsettled.size === 0 || !this.isFresh(bucket)) continue;
      this.handedOut.add(bucket);
      for (const entry of bucket.unsettled.values()) {
        entries.push(entry);
        if (entries.length >= max) break;
      }
    }
    for (const [bucket, keeper] of this.options.keepers) {
      if (entries.length >= max) break;
      for (const orphan of keeper.claimed) {
        if (entries.length >= max) break;
        if (!this.isFresh(bucket)) continue;
        entries.push(...(await this.readOrphan(bucket, keeper, orphan, max - entries.length)));
      }
    }
    return entries;
  }

  /**
   * Whoever has slept may have been taken for dead meanwhile, and wallets opened without its posts: they go to
   * the ledger only when its leases are known to stand.
   */
  private isFresh(bucket: Bucket): boolean {
    return performance.now() - bucket.freshAtMs < this.options.leaseMs / 2;
  }

  private async readOrphan(
    bucket: Bucket,
    keeper: Keeper,
    orphan: string,
    max: number,
  ): Promise<OutboxEntry[]> {
    const [epoch = "", process = ""] = orphan.split("|");
    const outbox = bucket.outboxOf(epoch, process);
    try {
      const reply = await this.options.client.call("XRANGE", outbox, "-", "+", "COUNT", `${max}`);
      const entries = readOutbox(bucket.name, orphan, reply);
      if (entries.length === 0) await keeper.finish(orphan);
      return entries;
    } catch (error) {
      this.options.log.warn({ err: error, orphan }, "the outbox of a dead gateway cannot be read");
      return [];
    }
  }
}
