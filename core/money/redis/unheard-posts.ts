import type { Posted } from "../hold-store.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Posting } from "../outbox-entry.ts";
import { asReply, type Bucket } from "./bucket.ts";
import { namesText } from "./holds.ts";
import type { Sent } from "./resender.ts";

/** A post without a reply that the spool could not keep. Redis may have it, or get it later. */
interface UnheardPost {
  readonly bucket: Bucket;
  readonly sent: Sent;
  readonly accountId: string;
  readonly purses: string;
  isVoided: boolean;
}

/**
 * Posts without a reply that the spool could not keep. Its caller posts such a call again, or voids it. A void takes the
 * post back, so that a call whose client got an error is not charged.
 *
 * It is never committed and taken back: this process commits a post only after a reply, and then `forget`s it here.
 * Another process commits it only after it ended the leases of this one, or the epoch. Then Redis refuses the void.
 */
export class UnheardPosts {
  private readonly byCall = new Map<string, UnheardPost>();

  add(bucket: Bucket, { callId, accountId, purses }: Posting, sent: Sent): void {
    if (this.byCall.has(callId)) return;
    const post = { bucket, sent, accountId, purses: namesText(purses), isVoided: false };
    this.byCall.set(callId, post);
  }

  /** Returns when a post was first sent. Once Redis may have forgotten it, ask the ledger before it is sent again. */
  firstSent(callId: string): Sent | undefined {
    return this.byCall.get(callId)?.sent;
  }

  /** Forgets a call that is posted, or in the spool. */
  forget(callId: string): void {
    this.byCall.delete(callId);
  }

  /**
   * Voids a call; undefined if it is not here. Never rejects: if Redis does not reply, the next round of its bucket
   * tries again.
   */
  void(callId: string): Promise<void> | undefined {
    const post = this.byCall.get(callId);
    if (post === undefined) return undefined;
    post.isVoided = true;
    return this.takeBack(callId, post);
  }

  /** Returns the result of a post after the void, which is final: nothing is charged. Undefined for any other call. */
  findVoided(callId: string): Posted | undefined {
    if (this.byCall.get(callId)?.isVoided !== true) return undefined;
    return { chargedMicroVnd: 0, writtenOffMicroVnd: 0, duplicate: true };
  }

  /** Takes back the voided posts of a bucket that is ready. Never rejects. */
  async round(bucket: Bucket): Promise<void> {
    const posts = [...this.byCall].filter(([, post]) => post.bucket === bucket);
    await Promise.all(posts.map(([callId, post]) => this.takeBack(callId, post)));
  }

  private async takeBack(callId: string, post: UnheardPost): Promise<void> {
    const { bucket, sent, accountId, purses, isVoided } = post;
    const { epoch, process, state } = bucket;
    if (state !== "ready") return;
    if (!isVoided) return;
    // The outbox of an earlier epoch or process id is committed by its new owner.
    if (sent.epoch !== epoch || sent.process !== process) return this.forget(callId);
    const keys = [bucket.epochKeys.outbox, bucket.keys.call(callId)];
    const keptMs = String(LIFETIMES.committedCallKeptMs);
    const args = [callId, epoch, accountId, purses, keptMs];
    try {
      await bucket.run("void", keys, args, asReply);
      this.forget(callId);
    } catch {
      // The next round voids it again.
    }
  }
}
