import type { OutboxEntry, Posted, Posting, WalletSnapshot } from "../../contract/hold-store.ts";
import { failpoint } from "../../process/failpoint.ts";
import { textOf } from "../../redis/reply.ts";
import { entryOf } from "../entry.ts";
import type { Bucket, Reply } from "./bucket.ts";
import { amountOf } from "./view.ts";

/** What the ledger knows, for posts of which the store cannot know alone what became of them. */
export interface Truth {
  wallet(accountId: string): Promise<WalletSnapshot | undefined>;
  /** Whether this call is in the ledger. */
  hasCall(posting: Posting): Promise<boolean>;
}

/** When a post was sent for the first time, by the monotonic clock, and in which epoch of its bucket. */
export interface Sent {
  readonly atMs: number;
  readonly epoch: string;
}

/** A post that Redis may have or not have, and that some disk or memory keeps until it surely has it. */
interface Offer {
  readonly posting: Posting;
  /** Undefined where that was before this process, or nobody knows. */
  readonly sent: Sent | undefined;
  done(): void;
}

interface OfferActions {
  post(bucket: Bucket, posting: Posting): Promise<Reply>;
  /** Opens the call's wallet; false where the ledger has no such account. */
  open(accountId: string): Promise<boolean>;
  keep(bucket: Bucket, entry: OutboxEntry): void;
  /** Redis has the post: the call's hold is no more. */
  over(bucket: Bucket, callId: string): void;
}

/** Redis remembers a settled call for longer than this: see `CALL_KEPT_MS`. */
const ASK_LEDGER_AFTER_MS = 60_000;

/**
 * Offers posts to Redis until each is in: those whose answer never came, those that were spooled, those that
 * a wiped Redis has forgotten. A post that is older than Redis's memory of settled calls is looked up in
 * the ledger first, so that it is never charged twice, however late it comes.
 */
export class Offers {
  private readonly truth: Truth;
  private readonly actions: OfferActions;
  private readonly queues = new Map<Bucket, Offer[]>();
  private readonly byCall = new Map<string, Offer>();
  private readonly running = new Set<Bucket>();

  constructor(truth: Truth, actions: OfferActions) {
    this.truth = truth;
    this.actions = actions;
  }

  get size(): number {
    return this.byCall.size;
  }

  /** What the caller is told of a post that waits here; undefined for any other. */
  find(callId: string): Posted | undefined {
    const offer = this.byCall.get(callId);
    if (offer === undefined) return undefined;
    const { costMicroVnd } = offer.posting;
    return { chargedMicroVnd: costMicroVnd, writtenOffMicroVnd: 0, duplicate: true };
  }

  add(bucket: Bucket, offer: Offer): void {
    const { callId } = offer.posting;
    if (this.byCall.has(callId)) return offer.done();
    this.byCall.set(callId, offer);
    const queue = this.queues.get(bucket) ?? [];
    queue.push(offer);
    this.queues.set(bucket, queue);
  }

  /** Works off what waits for this bucket, in order, as far as it gets. Never rejects. */
  async drain(bucket: Bucket, nowMs: () => number): Promise<void> {
    const queue = this.queues.get(bucket);
    if (queue === undefined || this.running.has(bucket)) return;
    this.running.add(bucket);
    let taken = 0;
    try {
      for (const offer of queue) {
        await this.offer(bucket, offer, nowMs);
        failpoint("spool.offered");
        offer.done();
        this.byCall.delete(offer.posting.callId);
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

  private async offer(bucket: Bucket, offer: Offer, nowMs: () => number): Promise<void> {
    const { posting, sent } = offer;
    const { epoch } = bucket;
    // Another process may have settled what came through unheard, in an epoch of which Redis remembers nothing.
    const isRemembered = sent?.epoch === epoch && nowMs() - sent.atMs < ASK_LEDGER_AFTER_MS;
    if (!isRemembered && (await this.truth.hasCall(posting))) return;
    if (bucket.epoch !== epoch)
      throw new Error("the bucket has moved on since the ledger was asked");
    let reply = await this.actions.post(bucket, posting);
    if (reply[0] === "unknown") {
      if (!(await this.actions.open(posting.accountId))) return this.unplaced(bucket, posting);
      reply = await this.actions.post(bucket, posting);
    }
    if (reply[0] === "unknown") throw new Error("the wallet was closed again");
    this.actions.over(bucket, posting.callId);
    // An earlier attempt may have come through unheard: then the entry is there, and nobody settles it yet.
    const isMine = textOf(reply[3]).startsWith(`${bucket.epoch}|${bucket.process}|`);
    if (reply[0] === "posted" || isMine) {
      const entryId = `${bucket.name}|${textOf(reply[3])}`;
      const [, charged, writtenOff] = reply;
      const entry = entryOf(entryId, posting, amountOf(charged), amountOf(writtenOff));
      this.actions.keep(bucket, entry);
    }
  }

  /** No wallet can be charged. The ledger refuses the entry too and puts it aside, where an operator sees it. */
  private unplaced(bucket: Bucket, posting: Posting): void {
    const entryId = `${bucket.name}|0||${posting.callId}`;
    this.actions.keep(bucket, entryOf(entryId, posting, posting.costMicroVnd, 0));
  }
}
