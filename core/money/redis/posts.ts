import { requireMicroVnd } from "../../contract/amount.ts";
import type { Posted, Posting } from "../../contract/hold-store.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { Log } from "../../process/log.ts";
import { errorOf } from "../../process/thrown.ts";
import { textOf } from "../../redis/reply.ts";
import { encodeEntry, entryOf } from "../entry.ts";
import { RecentCalls } from "../recent.ts";
import { asReply, type Bucket, type Reply } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import type { Settlement } from "./commits.ts";
import { type Holds, limitsText } from "./holds.ts";
import { Offers, type Sent, type Truth } from "./resender.ts";
import { Spool, type SpoolOptions } from "./spool.ts";
import { amountOf } from "./view.ts";
import type { RedisWallets } from "./wallets.ts";

interface PostsOptions {
  readonly buckets: BucketMap;
  readonly wallets: RedisWallets;
  readonly holds: Holds;
  readonly settlement: Settlement;
  readonly spool: SpoolOptions;
  readonly truth: Truth;
  readonly log: Log;
}

/** A call is remembered after its post until it is settled, a day at most: then two posts of one call are one. */
const CALL_KEPT_MS = "86400000";
/** Calls posted here last that answer for themselves, even where Redis has forgotten them. */
const RECENT_CALLS = 4_096;
const SPOOLED_POST_BYTES = 1_024;

/** Charges for calls that are over: in Redis at once, or on the disk until Redis has them. */
export class Posts {
  private readonly options: PostsOptions;
  private readonly recent = new RecentCalls(RECENT_CALLS);
  private readonly offers: Offers;
  private spool: Spool | undefined;

  constructor(options: PostsOptions) {
    this.options = options;
    const { truth, wallets, settlement, holds } = options;
    this.offers = new Offers(truth, {
      post: (bucket, posting) => this.send(bucket, posting, encodeEntry(posting, 0, 0), asReply),
      open: (accountId) => wallets.open(accountId, () => truth.wallet(accountId)),
      keep: (bucket, entry) => settlement.keep(bucket, entry),
      over: (_, callId) => holds.over(callId),
    });
  }

  /** Posts that are not known to be in Redis. */
  get waiting(): number {
    return this.offers.size;
  }

  /** Opens the spool, and takes up what earlier processes have left in it. */
  async start(): Promise<void> {
    const { spool, buckets, log } = this.options;
    this.spool = await Spool.open(spool);
    for (const { posting, done } of this.spool.recovered) {
      const offer = { posting, sent: undefined, done };
      this.offers.add(buckets.of(posting.accountId), offer);
    }
    if (this.offers.size === 0) return;
    log.info({ calls: this.offers.size }, "replaying spooled posts");
    failpoint("spool.replaying");
  }

  async stop(): Promise<void> {
    await this.spool?.close();
  }

  post(posting: Posting): Posted | Promise<Posted> {
    requireMicroVnd(posting.costMicroVnd);
    const before = this.recent.get(posting.callId) ?? this.offers.find(posting.callId);
    if (before !== undefined) return { ...before, duplicate: true };
    const bucket = this.options.buckets.of(posting.accountId);
    const sent = { atMs: performance.now(), epoch: bucket.epoch };
    if (bucket.state !== "ready") return this.keep(bucket, posting, sent);
    const text = encodeEntry(posting, 0, 0);
    const answer = (reply: Reply) => this.posted(bucket, posting, text, reply, sent);
    return this.send(bucket, posting, text, answer).catch(() => this.keep(bucket, posting, sent));
  }

  postAll(postings: readonly Posting[]): (Posted | Promise<Posted> | Error)[] {
    return postings.map((posting) => {
      try {
        return this.post(posting);
      } catch (error) {
        return errorOf(error);
      }
    });
  }

  /** Why the posts of `calls` could not be kept while Redis is away. */
  refusal(calls: number): string | undefined {
    return this.spool?.refusal(calls * SPOOLED_POST_BYTES);
  }

  /** Nobody here knows any more which posts of a bucket are in the ledger, and which only in this memory. */
  offerUnsettled(bucket: Bucket): void {
    for (const { posting } of this.options.settlement.release(bucket)) {
      this.offers.add(bucket, { posting, sent: undefined, done() {} });
    }
  }

  /** Brings what waits into a bucket that is in order. Never rejects. */
  drain(bucket: Bucket): Promise<void> {
    return this.offers.drain(bucket, () => performance.now());
  }

  private send<T>(
    bucket: Bucket,
    posting: Posting,
    text: string,
    answer: (reply: Reply) => T,
  ): Promise<T> {
    const { callId, accountId, costMicroVnd } = posting;
    const keys = [bucket.outboxKey, bucket.callKey(callId)];
    const cost = String(costMicroVnd);
    const limits = limitsText(posting.limits);
    const args = [callId, accountId, cost, text, bucket.epoch, CALL_KEPT_MS, limits];
    return bucket.run("post", keys, args, answer);
  }

  private posted(bucket: Bucket, posting: Posting, text: string, reply: Reply, sent: Sent): Posted {
    const [kind, charged, writtenOff, place] = reply;
    const { callId } = posting;
    if (kind === "unknown") return this.keep(bucket, posting, sent);
    this.options.holds.over(callId);
    const chargedMicroVnd = amountOf(charged);
    const writtenOffMicroVnd = amountOf(writtenOff);
    const duplicate = kind !== "posted";
    if (!duplicate) {
      const entryId = `${bucket.name}|${textOf(place)}`;
      const entry = entryOf(entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text);
      this.options.settlement.keep(bucket, entry);
    }
    const posted = { chargedMicroVnd, writtenOffMicroVnd, duplicate };
    this.recent.add(callId, posted, 0, 0);
    return posted;
  }

  /** Redis may have the post or not: it is on the disk before the caller hears that it is safe. */
  private keep(bucket: Bucket, posting: Posting, sent: Sent): Posted {
    if (this.spool === undefined) throw new Error("the hot store is not started");
    const { done } = this.spool.add(posting);
    failpoint("spool.kept");
    this.offers.add(bucket, { posting, sent, done });
    return { chargedMicroVnd: posting.costMicroVnd, writtenOffMicroVnd: 0, duplicate: false };
  }
}
