import { failpoint } from "../../process/failpoint.ts";
import { isOutOfMemory } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import { entryOf } from "../entry.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Sent, UnsentPost } from "../outbox.ts";
import type { StoredEntry } from "../outbox-entry.ts";
import { loadWithPurses } from "../purse.ts";
import { callOf, costOf } from "../unreadable.ts";
import type { Bucket } from "./bucket.ts";
import type { Commits } from "./commits.ts";
import { type Holds, namesText } from "./holds.ts";
import { asReply, type Reply } from "./operations.ts";
import type { LedgerLookup } from "./store-options.ts";
import { amountOf } from "./view.ts";
import type { RedisWallets } from "./wallets.ts";

/** Posts that are sent at the same time. After a wipe of Redis there are as many as the ledger lacked. */
const AT_ONCE = 32;

/** The ledger was asked about a call or its wallet, and did not reply. */
class LedgerSilent extends Error {}

function silent(cause: unknown): never {
  throw new LedgerSilent("the ledger did not reply", { cause });
}

/**
 * Returns true if a post was sent in the bucket's epoch, under the id that this process has in it. Then Redis itself knows if it has
 * it: until this process acknowledges the post, or loses its outbox, which ends the id or the epoch.
 */
export function isSentIn({ epoch, process }: Bucket, sent: Sent | undefined): boolean {
  return sent?.epoch === epoch && sent.process === process;
}

interface ResenderOptions {
  readonly ledger: LedgerLookup;
  readonly wallets: RedisWallets;
  readonly holds: Pick<Holds, "forget">;
  readonly commits: Pick<Commits, "add">;
  readonly send: (bucket: Bucket, entry: StoredEntry) => Promise<Reply>;
}

/**
 * Sends unsent posts until Redis has each of them, and takes back those that were voided. Redis remembers a committed call
 * only for `committedCallKeptMs`. So a post of an earlier epoch, or id of this process, is looked up in the ledger first, and no
 * call is charged twice.
 */
export class Resender {
  private readonly running = new Set<Bucket>();
  /** Posts that a full Redis neither had nor took. They wait until it has room. */
  private readonly refused = new WeakSet<UnsentPost>();

  constructor(private readonly options: ResenderOptions) {}

  /**
   * Sends the posts of a bucket, oldest first, until Redis fails. While the ledger is silent, sends those that need no
   * question: their calls hold money until then. Never rejects.
   *
   * A full Redis takes no new post, but returns the result of a post that it has, wherever in the order that is. Then
   * this process can commit it, which gives Redis room.
   */
  async resendAll(bucket: Bucket): Promise<void> {
    const { unsent } = bucket.outbox;
    for (const post of unsent.values())
      if (post.state === "voided") void this.takeBack(bucket, post);
    if (this.running.has(bucket)) return;
    this.running.add(bucket);
    const posts = unsent.entries();
    let isRedisAway = false;
    let isLedgerSilent = false;
    const sendOn = async () => {
      for (const [callId, post] of posts) {
        if (isRedisAway) return;
        if (post.state !== "kept" || (isLedgerSilent && !isSentIn(bucket, post.sent))) continue;
        try {
          if (!(await this.isTaken(bucket, post))) continue;
        } catch (error) {
          // The post stays for the next round.
          if (error instanceof LedgerSilent) isLedgerSilent = true;
          else isRedisAway = true;
          continue;
        }
        failpoint("spool.resent");
        post.drop?.();
        // It may have been posted, lost with its epoch and added again.
        if (unsent.get(callId) === post) unsent.delete(callId);
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, sendOn));
    } finally {
      this.running.delete(bucket);
    }
  }

  /**
   * Voids a post without a reply, so that a call whose client got an error is not charged. Never rejects: if Redis does not
   * reply, the next round tries again.
   *
   * It is never committed and taken back: this process commits a post only after a reply, and then it is not unsent.
   * Another process commits it only after it ended the leases of this one, or the epoch. Then Redis refuses the void.
   */
  async takeBack(bucket: Bucket, { entry, sent }: UnsentPost): Promise<void> {
    const { callId, accountId, purses } = callOf(entry);
    const { unsent } = bucket.outbox;
    if (bucket.state !== "ready") return;
    // The outbox of an earlier epoch or process id is committed by its new owner.
    if (!isSentIn(bucket, sent)) return void unsent.delete(callId);
    const keys = [bucket.epochKeys.outbox, bucket.keys.call(callId)];
    const keptMs = String(LIFETIMES.committedCallKeptMs);
    const fields = [callId, bucket.epoch, accountId, namesText(purses), keptMs];
    try {
      await bucket.run("void", keys, fields, asReply);
      unsent.delete(callId);
    } catch {
      // The next round voids it again.
    }
  }

  /** Returns false if Redis is full and does not have the post. */
  private async isTaken(bucket: Bucket, post: UnsentPost): Promise<boolean> {
    if (bucket.isFull && this.refused.has(post)) return false;
    try {
      await this.resend(bucket, post);
      return true;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      this.refused.add(post);
      return false;
    }
  }

  private async resend(bucket: Bucket, { entry, sent }: UnsentPost): Promise<void> {
    const { callId, accountId, purses, at } = callOf(entry);
    const { ledger, wallets, holds, commits, send } = this.options;
    const { epoch } = bucket;
    if (!isSentIn(bucket, sent)) {
      if ("debit" in entry) return;
      if (await ledger.hasCall({ callId, at }).catch(silent)) return holds.forget(callId);
    }
    if (bucket.epoch !== epoch)
      throw new Error("the epoch changed during the ledger lookup; the next round sends the post");
    let reply = await send(bucket, entry);
    if (reply[0] === "unknown") {
      const isLoaded = await loadWithPurses(wallets, ledger, accountId, purses ?? []).catch(silent);
      if (bucket.epoch !== epoch)
        throw new Error("the epoch changed during the load; the next round sends the post");
      if (!isLoaded) return this.postUnchargeable(bucket, entry);
      reply = await send(bucket, entry);
    }
    if (reply[0] === "unknown" || bucket.epoch !== epoch)
      throw new Error("the epoch changed during the post; the next round sends it again");
    holds.forget(callId);
    if (reply[0] === "short") return;
    // Also a duplicate, by an earlier attempt: perhaps only Redis has it, in the outbox of a process whose leases ended, and
    // loses it before another process commits it. Both may commit and acknowledge it. One of an earlier epoch was committed
    // before this one opened, if its wallets have it: after a restore of the ledger they do not. A voided post has no place.
    if (textOf(reply[3]).startsWith(`${epoch}|`))
      commits.add(bucket, chargedAt(bucket, entry, reply));
  }

  /** Queues a call whose account does not exist. The ledger quarantines its entry, and operators see it there. */
  private postUnchargeable(bucket: Bucket, entry: StoredEntry): void {
    const { callId } = callOf(entry);
    this.options.holds.forget(callId);
    const reply = ["posted", String(costOf(entry)), "0", `0||${callId}`];
    this.options.commits.add(bucket, chargedAt(bucket, entry, reply));
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
