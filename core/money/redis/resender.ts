import type { OutboxEntry, Posted, Posting } from "../../contract/hold-store.ts";
import { failpoint } from "../../process/failpoint.ts";
import { textOf } from "../../redis/reply.ts";
import { entryOf } from "../entry.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Bucket } from "./bucket.ts";
import type { LedgerLookup } from "./ledger-lookup.ts";
import type { Reply } from "./session.ts";
import { amountOf } from "./view.ts";

/** When a post was sent for the first time, by the monotonic clock, and in which epoch of its bucket. */
export interface Sent {
  readonly atMs: number;
  readonly epoch: string;
}

/** A post that Redis may have or not have, and that some disk or memory keeps until it surely has it. */
interface UnconfirmedPost {
  readonly posting: Posting;
  /** Undefined where that was before this process, or nobody knows. */
  readonly sent: Sent | undefined;
  done(): void;
}

interface ResendActions {
  post(bucket: Bucket, posting: Posting): Promise<Reply>;
  /** Loads the call's wallet; false if the ledger has no such account. */
  load(accountId: string): Promise<boolean>;
  add(bucket: Bucket, entry: OutboxEntry): void;
  /** Redis has the post: the call's hold is no more. */
  forgetHold(bucket: Bucket, callId: string): void;
}

/**
 * Sends posts to Redis until each is in: those without a reply, those that were spooled, those that a wiped Redis has
 * forgotten. Redis remembers a committed call for `committedCallKeptMs` only, so a post older than `askLedgerAfterMs`
 * is looked up in the ledger first: it is never charged twice, however late it comes.
 */
export class Resender {
  private readonly ledger: LedgerLookup;
  private readonly actions: ResendActions;
  private readonly queues = new Map<Bucket, UnconfirmedPost[]>();
  private readonly byCall = new Map<string, UnconfirmedPost>();
  private readonly running = new Set<Bucket>();

  constructor(ledger: LedgerLookup, actions: ResendActions) {
    this.ledger = ledger;
    this.actions = actions;
  }

  get size(): number {
    return this.byCall.size;
  }

  /** What the caller is told of a post that waits here; undefined for any other. */
  find(callId: string): Posted | undefined {
    const post = this.byCall.get(callId);
    if (post === undefined) return undefined;
    const { costMicroVnd } = post.posting;
    return { chargedMicroVnd: costMicroVnd, writtenOffMicroVnd: 0, duplicate: true };
  }

  add(bucket: Bucket, post: UnconfirmedPost): void {
    const { callId } = post.posting;
    if (this.byCall.has(callId)) return post.done();
    this.byCall.set(callId, post);
    const queue = this.queues.get(bucket) ?? [];
    queue.push(post);
    this.queues.set(bucket, queue);
  }

  /** Works off what waits for this bucket, in order, as far as it gets. Never rejects. */
  async resendAll(bucket: Bucket, nowMs: () => number): Promise<void> {
    const queue = this.queues.get(bucket);
    if (queue === undefined || this.running.has(bucket)) return;
    this.running.add(bucket);
    let taken = 0;
    try {
      for (const post of queue) {
        await this.resend(bucket, post, nowMs);
        failpoint("spool.resent");
        post.done();
        this.byCall.delete(post.posting.callId);
        taken += 1;
      }
    } catch {
      // Redis or the ledger is away (again): the rest waits for the next round.
    } finally {
      queue.splice(0, taken);
      if (queue.length === 0) this.queues.delete(bucket);
      this.running.delete(bucket);
    }
  }

  private async resend(bucket: Bucket, post: UnconfirmedPost, nowMs: () => number): Promise<void> {
    const { posting, sent } = post;
    const { epoch } = bucket;
    // Another process may have committed what came through unheard, in an epoch of which Redis remembers nothing.
    const isRemembered = sent?.epoch === epoch && nowMs() - sent.atMs < LIFETIMES.askLedgerAfterMs;
    if (!isRemembered && (await this.ledger.hasCall(posting))) return;
    if (bucket.epoch !== epoch)
      throw new Error("the bucket has moved on since the ledger was asked");
    let reply = await this.actions.post(bucket, posting);
    if (reply[0] === "unknown") {
      if (!(await this.actions.load(posting.accountId)))
        return this.addUnchargeable(bucket, posting);
      reply = await this.actions.post(bucket, posting);
    }
    if (reply[0] === "unknown") throw new Error("the wallet was dropped again");
    this.actions.forgetHold(bucket, posting.callId);
    // An earlier attempt may have come through unheard: then the entry is there, and nobody commits it yet.
    const isMine = textOf(reply[3]).startsWith(`${bucket.epoch}|${bucket.process}|`);
    if (reply[0] === "posted" || isMine) {
      const entryId = `${bucket.name}|${textOf(reply[3])}`;
      const [, charged, writtenOff] = reply;
      const entry = entryOf(entryId, posting, amountOf(charged), amountOf(writtenOff));
      this.actions.add(bucket, entry);
    }
  }

  /** No wallet can be charged. The ledger refuses the entry too and puts it aside, where an operator sees it. */
  private addUnchargeable(bucket: Bucket, posting: Posting): void {
    const entryId = `${bucket.name}|0||${posting.callId}`;
    this.actions.add(bucket, entryOf(entryId, posting, posting.costMicroVnd, 0));
  }
}
