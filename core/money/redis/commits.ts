import { countOf } from "../../process/json.ts";
import type { Log } from "../../process/log.ts";
import type { Machine } from "../../process/machine.ts";
import { WakeableSleep } from "../../process/wakeable-sleep.ts";
import type { RedisCommands } from "../../redis/client.ts";
import { listOf, textOf } from "../../redis/reply.ts";
import { decodeEntry, entryOf } from "../entry.ts";
import type { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { StoredEntry } from "../outbox-entry.ts";
import { callOf } from "../unreadable.ts";
import type { Bucket } from "./bucket.ts";
import { namesText } from "./holds.ts";
import type { Membership } from "./membership.ts";
import { asReply } from "./operations.ts";

interface CommitsOptions {
  readonly client: RedisCommands;
  readonly buckets: readonly Bucket[];
  readonly memberships: ReadonlyMap<Bucket, Membership>;
  readonly machine: Machine;
  readonly log: Log;
  readonly watch: Pick<LedgerWatch, "keep" | "isHome">;
}

/**
 * Hands posted calls to the committer. Each process commits its own posts from memory, which it keeps until the commit
 * in case Redis loses them. An outbox in Redis is read only if its process died. So in normal operation nothing is read
 * back or parsed, and no two processes commit the same call.
 */
export class Commits {
  private readonly byName: ReadonlyMap<string, Bucket>;
  private next = 0;
  /** The pause of the committer. The next post ends it, and so does a stop. */
  private readonly pause: WakeableSleep;
  private stopped = false;
  /** Resolves once Redis has the latest acknowledgement. */
  private acknowledged: Promise<void> | undefined;

  constructor(private readonly options: CommitsOptions) {
    this.pause = new WakeableSleep(options.machine);
    this.byName = new Map(options.buckets.map((bucket) => [bucket.name, bucket]));
  }

  /** Count of uncommitted calls that this process posted. */
  get size(): number {
    let size = 0;
    for (const { outbox } of this.options.buckets) size += outbox.posted.size;
    return size;
  }

  add(bucket: Bucket, entry: StoredEntry): void {
    bucket.outbox.post({ ...entry, membership: bucket.membership });
    this.pause.wake();
  }

  /** Returns the entry of an uncommitted call or debit of this process; undefined if there is none. */
  find(callId: string): StoredEntry | undefined {
    for (const { outbox } of this.options.buckets) {
      const entry = outbox.posted.get(callId);
      if (entry) return entry;
    }
    return undefined;
  }

  /** The ledger refused a commit: a gateway that commits one of these entries is no member of its epoch any more. */
  refused(entries: readonly StoredEntry[]): void {
    const names = new Set(entries.map(({ membership = "" }) => membership.split("|")[0]));
    for (const [bucket, membership] of this.options.memberships)
      if (names.has(bucket.name)) membership.refused();
  }

  /** Cuts a waiting `read` short, because an orphaned outbox was claimed. */
  wake(): void {
    this.pause.wake();
  }

  async read(max: number, waitMs: number): Promise<StoredEntry[]> {
    const entries = await this.gather(max);
    if (entries.length > 0 || waitMs === 0 || this.stopped) return entries;
    await this.pause.sleep(waitMs);
    return this.gather(max);
  }

  stop(): void {
    this.stopped = true;
    this.pause.wake();
  }

  /**
   * Acknowledges committed entries. Never rejects. A failed acknowledgement is retried; a new epoch makes it obsolete.
   */
  acknowledge(entries: readonly StoredEntry[]): Promise<void> {
    this.acknowledged = this.acknowledgeNow(entries);
    return this.acknowledged;
  }

  /**
   * Retries the acknowledgements that failed. Those of an earlier epoch are dropped: `acknowledgeGroup` skips them.
   */
  async acknowledgeRest(bucket: Bucket): Promise<void> {
    const { outbox } = bucket;
    const entries = outbox.committed;
    outbox.committed = [];
    if (entries.length > 0) await this.acknowledgeNow(entries);
  }

  private async acknowledgeNow(entries: readonly StoredEntry[]): Promise<void> {
    const byOutbox = new Map<string, StoredEntry[]>();
    for (const entry of entries) {
      const outbox = outboxOf(entry);
      const group = byOutbox.get(outbox);
      if (group) group.push(entry);
      else byOutbox.set(outbox, [entry]);
      this.byName.get(outbox.split("|", 1)[0] ?? "")?.outbox.commit(entry);
    }
    const isKept = await this.options.watch.keep().then(
      () => true,
      () => false,
    );
    await Promise.all(
      [...byOutbox].map(([outbox, group]) => this.acknowledgeGroup(outbox, group, isKept)),
    );
  }

  private async acknowledgeGroup(
    outbox: string,
    entries: readonly StoredEntry[],
    isKept: boolean,
  ): Promise<void> {
    const [bucketName = "", epoch = "", process = ""] = outbox.split("|");
    const bucket = this.byName.get(bucketName);
    if (bucket === undefined) return;
    // The entry of an unchargeable call was never in Redis.
    if (process === "") return;
    const isCurrent = epoch === bucket.epoch;
    const orphan = `${epoch}|${process}`;
    const membership = this.options.memberships.get(bucket);
    const isOrphan = membership?.claimed.has(orphan) ?? false;
    if (!isCurrent && !isOrphan) return;
    if (!isKept || bucket.state !== "ready") {
      if (!isOrphan) bucket.outbox.committed.push(...entries);
      return;
    }
    try {
      const keys = [bucket.keys.outbox(epoch, process)];
      const fields = [isCurrent ? "1" : "0", String(LIFETIMES.committedCallKeptMs)];
      for (const entry of entries) {
        const { callId, accountId, purses } = callOf(entry);
        keys.push(bucket.keys.call(callId));
        const account = accountId + namesText(purses);
        // Without an account there is no wallet to take the charge out of.
        const charged = accountId === "" ? "0" : String(entry.chargedMicroVnd);
        const isReturned = "isReturned" in entry ? "1" : "";
        fields.push(entry.entryId.slice(outbox.length + 1), account, charged, isReturned);
      }
      await bucket.run("acknowledge", keys, fields, asReply);
    } catch {
      if (!isOrphan) bucket.outbox.committed.push(...entries);
    }
  }

  private async gather(max: number): Promise<StoredEntry[]> {
    const { buckets } = this.options;
    const entries: StoredEntry[] = [];
    // Begin at another bucket each time, so that a busy one does not delay the others.
    this.next = (this.next + 1) % buckets.length;
    for (let at = 0; at < buckets.length && entries.length < max; at += 1) {
      const bucket = buckets[(this.next + at) % buckets.length];
      if (bucket === undefined || !this.canCommit(bucket)) continue;
      entries.push(...bucket.outbox.oldest(max - entries.length));
    }
    for (const [bucket, membership] of this.options.memberships) {
      if (!this.options.watch.isHome) break;
      for (const orphan of membership.claimed) {
        if (entries.length >= max) break;
        if (!this.canCommit(bucket)) continue;
        // Redis still has what was committed, until it is acknowledged.
        await this.acknowledged;
        entries.push(...(await this.readOrphan(bucket, membership, orphan, max - entries.length)));
      }
    }
    return entries;
  }

  private canCommit(bucket: Bucket): boolean {
    return this.options.memberships.get(bucket)?.canCommit ?? false;
  }

  private async readOrphan(
    bucket: Bucket,
    membership: Membership,
    orphan: string,
    max: number,
  ): Promise<StoredEntry[]> {
    const [epoch = "", process = ""] = orphan.split("|");
    const outbox = bucket.keys.outbox(epoch, process);
    const { membership: member } = bucket;
    try {
      const reply = await this.options.client.call("XRANGE", outbox, "-", "+", "COUNT", `${max}`);
      const entries = readOutbox(bucket.name, orphan, reply);
      if (entries.length === 0) await membership.finish(orphan);
      return entries.map((entry) => ({ ...entry, membership: member }));
    } catch (error) {
      this.options.log.warn(
        { err: error, orphan },
        "cannot read the outbox of a dead gateway; its calls stay uncommitted until a retry succeeds",
      );
      return [];
    }
  }
}

/**
 * Returns the outbox of an entry: its id without the last part. An id is `bucket|epoch|gateway|id in the outbox`, for
 * example `b07|12-5f0c2b91|<uuid>|1700000000001-0`.
 */
function outboxOf({ entryId }: StoredEntry): string {
  return entryId.slice(0, entryId.lastIndexOf("|"));
}

/** Parses the entries of an outbox from the reply to `XRANGE`. `post.lua` writes the fields. */
export function readOutbox(bucketName: string, orphan: string, reply: unknown): StoredEntry[] {
  return listOf(reply).map((item) => {
    const [id, fields] = listOf(item);
    const [, text, , charged, , writtenOff] = listOf(fields).map(textOf);
    const entry = decodeEntry(`${bucketName}|${orphan}|${textOf(id)}`, text ?? "");
    const chargedMicroVnd = countOf(Number(charged)) ?? 0;
    if (entry.posting === undefined) return { ...entry, chargedMicroVnd };
    return entryOf(entry.entryId, entry.posting, chargedMicroVnd, Number(writtenOff), entry.text);
  });
}
