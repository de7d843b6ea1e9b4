import { failpoint } from "../../process/failpoint.ts";
import { isOutOfMemory } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import { entryOf } from "../entry.ts";
import type { Posted } from "../hold-store.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { StoredEntry } from "../outbox-entry.ts";
import { type StandingCall, unsentPost } from "../standing.ts";
import { callOf, costOf } from "../unreadable.ts";
import type { Bucket, Reply } from "./bucket.ts";
import type { LedgerLookup } from "./store-options.ts";
import { amountOf } from "./view.ts";

/** Monotonic time and epoch of a post's first attempt, and the id that this process had in Redis. */
export interface Sent {
  readonly atMs: number;
  readonly epoch: string;
  readonly process: string;
}

/**
 * Returns true if Redis, in case it has the post, surely still remembers it. In the same epoch it does until the post
 * is committed, which another process may have done if the leases of this one ended.
 */
export function isRemembered(sent: Sent, { epoch, process }: Bucket, nowMs: number): boolean {
  if (sent.epoch !== epoch || sent.process !== process) return false;
  return nowMs - sent.atMs < LIFETIMES.askLedgerAfterMs;
}

/** A post with unknown outcome. The spool or this process's memory keeps it until Redis confirms it. */
interface UnconfirmedPost {
  readonly entry: StoredEntry;
  /** The first attempt; undefined if an earlier process sent the post, or the time is unknown. */
  readonly sent: Sent | undefined;
  /** Called once the post is in Redis or in the ledger: removes it from the spool. */
  done(): void;
}

interface ResendActions {
  post(bucket: Bucket, entry: StoredEntry): Promise<Reply>;
  /** Loads the call's wallet and purses; false if the ledger has no such account. */
  load(accountId: string, purses: readonly string[]): Promise<boolean>;
  add(bucket: Bucket, entry: StoredEntry): void;
  /** Called once Redis has the post, which used up the call's hold. */
  forgetHold(bucket: Bucket, callId: string): void;
}

/**
 * Resends posts until Redis has each of them: posts without a reply, spooled posts, and posts that a wiped Redis lost.
 * Redis remembers a committed call only for `committedCallKeptMs`. So a post older than `askLedgerAfterMs` is looked up
 * in the ledger first, and no call is charged twice.
 */
export class Resender {
  private readonly ledger: LedgerLookup;
  private readonly actions: ResendActions;
  private readonly queues = new Map<Bucket, UnconfirmedPost[]>();
  private readonly byCall = new Map<string, UnconfirmedPost>();
  private readonly running = new Set<Bucket>();
  /** Posts that a full Redis neither had nor took. They wait until it has room. */
  private readonly refused = new WeakSet<UnconfirmedPost>();

  constructor(ledger: LedgerLookup, actions: ResendActions) {
    this.ledger = ledger;
    this.actions = actions;
  }

  get size(): number {
    return this.byCall.size;
  }

  /** Returns the oldest post of each bucket. */
  unsent(): StandingCall[] {
    return Array.from(this.queues).flatMap(([bucket, [oldest]]) => {
      if (oldest === undefined) return [];
      return [unsentPost(callOf(oldest.entry), costOf(oldest.entry), bucket.process)];
    });
  }

  /** Returns the result of a second post of a queued call: its full cost. Undefined if the call is not queued. */
  find(callId: string): Posted | undefined {
    const post = this.byCall.get(callId);
    if (post === undefined) return undefined;
    return { chargedMicroVnd: costOf(post.entry), writtenOffMicroVnd: 0, duplicate: true };
  }

  add(bucket: Bucket, post: UnconfirmedPost): void {
    const { callId } = callOf(post.entry);
    if (this.byCall.has(callId)) return post.done();
    this.byCall.set(callId, post);
    const queue = this.queues.get(bucket) ?? [];
    queue.push(post);
    this.queues.set(bucket, queue);
  }

  /**
   * Sends the queue of a bucket in order, up to the first failure. Never rejects.
   *
   * A full Redis takes no new post, but returns the result of a post that it has, wherever in the queue that is. Then
   * this process can commit it, which gives Redis room.
   */
  async resendAll(bucket: Bucket, nowMs: () => number): Promise<void> {
    const queue = this.queues.get(bucket);
    if (queue === undefined || this.running.has(bucket)) return;
    this.running.add(bucket);
    const taken = new Set<UnconfirmedPost>();
    try {
      for (const post of queue) {
        if (!(await this.isTaken(bucket, post, nowMs))) continue;
        failpoint("spool.resent");
        post.done();
        this.byCall.delete(callOf(post.entry).callId);
        taken.add(post);
      }
    } catch {
      // Redis or the ledger is unreachable. The rest stays in the queue for the next round.
    } finally {
      const rest = queue.filter((post) => !taken.has(post));
      if (rest.length > 0) this.queues.set(bucket, rest);
      else this.queues.delete(bucket);
      this.running.delete(bucket);
    }
  }

  /** Returns false if Redis is full and does not have the post. */
  private async isTaken(
    bucket: Bucket,
    post: UnconfirmedPost,
    nowMs: () => number,
  ): Promise<boolean> {
    if (bucket.isFull && this.refused.has(post)) return false;
    try {
      await this.resend(bucket, post, nowMs);
      return true;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      this.refused.add(post);
      return false;
    }
  }

  private async resend(bucket: Bucket, post: UnconfirmedPost, nowMs: () => number): Promise<void> {
    const { entry, sent } = post;
    const { callId, accountId, purses, at } = callOf(entry);
    const { epoch } = bucket;
    const isDebit = "debit" in entry;
    if (isDebit && (sent?.epoch !== epoch || sent.process !== bucket.process)) return;
    // An earlier attempt may have reached Redis without a reply.
    const isKnown = isDebit || (sent !== undefined && isRemembered(sent, bucket, nowMs()));
    if (!isKnown && (await this.ledger.hasCall({ callId, at }))) return;
    if (bucket.epoch !== epoch)
      throw new Error("the epoch changed during the ledger lookup; the next round sends the post");
    let reply = await this.actions.post(bucket, entry);
    if (reply[0] === "unknown") {
      const isLoaded = await this.actions.load(accountId, purses ?? []);
      if (!isLoaded) return this.addUnchargeable(bucket, entry);
      reply = await this.actions.post(bucket, entry);
    }
    if (reply[0] === "unknown" || bucket.epoch !== epoch)
      throw new Error("the epoch changed during the post; the next round sends it again");
    this.actions.forgetHold(bucket, callId);
    if (reply[0] === "short") return;
    // Also a duplicate, by an earlier attempt: perhaps only Redis has it, in the outbox of a process whose leases ended, and
    // loses it before another process commits it. Both may commit and acknowledge it. One of an earlier epoch was committed
    // before this one opened, if its wallets have it: after a restore of the ledger they do not. A voided post has no place.
    if (textOf(reply[3]).startsWith(`${epoch}|`))
      this.actions.add(bucket, chargedAt(bucket, entry, reply));
  }

  /** Queues a call whose account does not exist. The ledger quarantines its entry, and operators see it there. */
  private addUnchargeable(bucket: Bucket, entry: StoredEntry): void {
    const place = `0||${callOf(entry).callId}`;
    this.actions.add(
      bucket,
      chargedAt(bucket, entry, ["posted", String(costOf(entry)), "0", place]),
    );
  }
}

/** Returns the entry at its place in the outbox, with the charge that Redis took, from the reply to its post. */
export function chargedAt(
  { name }: Bucket,
  entry: StoredEntry,
  [, charged, writtenOff, place]: Reply,
): StoredEntry {
  const entryId = `${name}|${textOf(place)}`;
  const chargedMicroVnd = amountOf(charged);
  if (entry.posting === undefined) return { ...entry, entryId, chargedMicroVnd };
  return entryOf(entryId, entry.posting, chargedMicroVnd, amountOf(writtenOff), entry.text);
}
