import { requireMicroVnd } from "../../catalogue/amount.ts";
import { failpoint } from "../../process/failpoint.ts";
import type { Log } from "../../process/log.ts";
import { errorOf } from "../../process/thrown.ts";
import { isOutOfMemory } from "../../redis/client.ts";
import { textOf } from "../../redis/reply.ts";
import { encodeEntry, entryOf } from "../entry.ts";
import { type DebitResult, type Posted, WALLET } from "../hold-store.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Sent, UnsentPost } from "../outbox.ts";
import type { DebitEntry, Posting, StoredEntry } from "../outbox-entry.ts";
import { type StandingCall, unsentPost } from "../standing.ts";
import { callOf, costOf } from "../unreadable.ts";
import { type Bucket, isJoining } from "./bucket.ts";
import type { BucketMap } from "./bucket-map.ts";
import type { Commits } from "./commits.ts";
import { type Holds, namesText } from "./holds.ts";
import { asReply, type Reply } from "./operations.ts";
import { chargedAt, isSentIn, Resender } from "./resender.ts";
import { Spool, type SpoolOptions } from "./spool.ts";
import type { LedgerLookup } from "./store-options.ts";
import { amountOf } from "./view.ts";
import type { RedisWallets } from "./wallets.ts";

interface PostsOptions {
  readonly buckets: BucketMap;
  readonly wallets: RedisWallets;
  readonly holds: Holds;
  readonly commits: Commits;
  readonly spool: SpoolOptions;
  readonly ledger: LedgerLookup;
  readonly log: Log;
}

const SPOOLED_POST_BYTES = 1_024;

/** The fields of a call that its post sends. */
interface Sendable extends Pick<Posting, "callId" | "accountId" | "costMicroVnd" | "purses"> {
  /** Of a debit: see `post.lua`. */
  readonly debit?: "whole" | "asked" | undefined;
}

/** The debit was asked for before it arrived: see `post.lua`. */
const NOT_TAKEN: DebitResult = {
  kind: "unavailable",
  reason: "the hold store did not reply in time, and took nothing; send it again",
};

/**
 * The fields of an entry that is sent again. One that this version cannot read is posted with the fields that its text
 * shows, so that its wallet is charged.
 */
function sendable(entry: StoredEntry): Sendable {
  const debit = "debit" in entry ? "asked" : undefined;
  return { ...callOf(entry), costMicroVnd: costOf(entry), debit };
}

/**
 * Posts finished calls: to Redis, or to the spool on the disk until Redis takes them.
 *
 * A post without a reply goes to the spool, and is unsent in the outbox: `writing`, then `kept` once it is synced. That is durable,
 * so its caller has its result, the full cost. `Resender` sends it again in each round of its bucket, once the epoch is open: in the
 * same epoch Redis knows itself if it has it, else the ledger is asked first, and one that it has is dropped. Once
 * Redis has it, it is posted like any other: off the disk, in `Commits`, which hands it to the committer. A start finds the spool's
 * posts and does the same.
 *
 * If the disk does not take it either, it is `left`. Then `settle` posts it later if its client has the reply (`late-posts.ts`: each
 * second, from memory only), or voids it: `Resender` takes it back while its entry is in this gateway's own outbox.
 */
export class Posts {
  private readonly resender: Resender;
  private spool: Spool | undefined;

  constructor(private readonly options: PostsOptions) {
    const send = (bucket: Bucket, entry: StoredEntry) =>
      this.send(bucket, sendable(entry), entry.text, asReply);
    this.resender = new Resender({ ...options, send });
  }

  /** Count of posts that Redis has not confirmed. */
  get unconfirmed(): number {
    return this.options.buckets.all.reduce((sum, { outbox }) => sum + outbox.unsent.size, 0);
  }

  /** Returns the oldest post of each bucket that is to be sent again. */
  unsent(): StandingCall[] {
    return this.options.buckets.all.flatMap(({ outbox, process }) => {
      const oldest = outbox.oldestKept();
      return oldest ? [unsentPost(callOf(oldest.entry), costOf(oldest.entry), process)] : [];
    });
  }

  /** Opens the spool, and queues the posts that earlier processes left in it. */
  async start(): Promise<void> {
    const { spool, buckets, log } = this.options;
    this.spool = await Spool.open(spool);
    for (const spooled of this.spool.recovered)
      buckets.of(callOf(spooled.entry).accountId).outbox.keep(spooled);
    if (this.unconfirmed === 0) return;
    log.info({ calls: this.unconfirmed }, "replaying spooled posts");
    failpoint("spool.replaying");
  }

  async stop(): Promise<void> {
    await this.spool?.close();
  }

  post(posting: Posting): Posted | Promise<Posted> {
    requireMicroVnd(posting.costMicroVnd);
    const { callId } = posting;
    const bucket = this.options.buckets.of(posting.accountId);
    const { epoch, process, outbox } = bucket;
    const before = outbox.result(callId);
    if (before !== undefined) return before;
    const unsent = outbox.unsent.get(callId);
    if (unsent?.written) return unsent.written.then((posted) => ({ ...posted, duplicate: true }));
    const sent = unsent?.sent ?? { epoch, process };
    if (bucket.state !== "ready" || !isSentIn(bucket, sent)) {
      return this.spoolPost(bucket, posting, sent, unsent !== undefined);
    }
    const text = encodeEntry(posting, posting.costMicroVnd, 0);
    const read = (reply: Reply) => this.posted(bucket, posting, text, reply);
    return this.send(bucket, posting, text, read).then(
      (posted) => posted ?? this.spoolPost(bucket, posting, sent, false),
      () => this.spoolPost(bucket, posting, sent, true),
    );
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

  /**
   * See `HoldStore.debit`. A post without a reply stays in memory, and Redis is asked in the background if it has it. If so, it is
   * committed; if not, it takes nothing any more. In a new epoch nothing is asked: the owner of the outbox of before commits it.
   */
  async debit(entry: DebitEntry): Promise<DebitResult> {
    const { callId, accountId } = entry.call;
    const { buckets, holds, commits } = this.options;
    const bucket = buckets.of(accountId);
    if (bucket.outbox.unsent.has(callId)) return { kind: "posted", duplicate: true };
    const refusal = holds.refusal(bucket);
    if (refusal !== undefined) return refusal;
    const { epoch, process } = bucket;
    const sent = { epoch, process };
    try {
      const call = { ...sendable(entry), debit: "whole" } as const;
      const reply = await this.send(bucket, call, entry.text, asReply);
      const [kind, amount] = reply;
      if (kind === "unknown") return { kind };
      if (kind === "short") return { kind, purse: WALLET, availableMicroVnd: amountOf(amount) };
      if (textOf(reply[3]).startsWith("{")) return NOT_TAKEN;
      // A duplicate is committed by the process that posted it, under the name that it had then. This one may have posted it
      // and not know: a client sends a command again whose reply was lost.
      if (kind === "posted" || bucket.isOwn(textOf(reply[3])))
        commits.add(bucket, chargedAt(bucket, entry, reply));
      return { kind: "posted", duplicate: kind !== "posted" };
    } catch (error) {
      if (isJoining(error)) return { kind: "unknown" };
      if (!isOutOfMemory(error)) bucket.outbox.keep({ entry, sent });
      throw error;
    }
  }

  /** Voids a call whose post Redis may have. Returns undefined for any other call. Never rejects. */
  voidUnheard(callId: string, accountId: string): Promise<void> | undefined {
    const bucket = this.options.buckets.of(accountId);
    const post = bucket.outbox.unsent.get(callId);
    if (post?.state !== "left") return undefined;
    post.state = "voided";
    this.options.holds.forget(callId);
    return this.resender.takeBack(bucket, post);
  }

  /** See `HoldStore.unsyncedMs`. */
  get unsyncedMs(): number {
    return this.spool?.unsyncedMs ?? 0;
  }

  /** Returns why the spool has no room for the posts of `calls` calls; undefined if it has. */
  refusal(calls: number): string | undefined {
    return this.spool?.refusal(calls * SPOOLED_POST_BYTES);
  }

  /**
   * Queues the uncommitted posts of a bucket to be sent again: some may be in the ledger, some only in this memory. A debit
   * ends with its epoch instead: its operator has no reply yet.
   */
  resendUncommitted(bucket: Bucket): void {
    const { outbox } = bucket;
    for (const [callId, entry] of outbox.posted) {
      outbox.posted.delete(callId);
      if (!("debit" in entry)) outbox.keep({ entry });
    }
  }

  /** Sends the unsent posts of a bucket that is ready, and takes back those that were voided. Never rejects. */
  resendAll(bucket: Bucket): Promise<void> {
    return this.resender.resendAll(bucket);
  }

  private send<T>(
    bucket: Bucket,
    call: Sendable,
    text: string,
    read: (reply: Reply) => T,
  ): Promise<T> {
    const { callId, accountId, costMicroVnd } = call;
    const keys = [bucket.epochKeys.outbox, bucket.keys.call(callId)];
    const cost = String(costMicroVnd);
    const fields = [callId, accountId, cost, text, bucket.epoch, namesText(call.purses)];
    if (call.debit) fields.push(call.debit, String(LIFETIMES.committedCallKeptMs));
    return bucket.run("post", keys, fields, read);
  }

  /** Returns undefined if the wallet or a purse is not loaded. */
  private posted(bucket: Bucket, posting: Posting, text: string, reply: Reply): Posted | undefined {
    const [kind, charged, writtenOff, place] = reply;
    if (kind === "unknown") return undefined;
    this.options.holds.forget(posting.callId);
    const chargedMicroVnd = amountOf(charged);
    const writtenOffMicroVnd = amountOf(writtenOff);
    // An earlier attempt may have succeeded without a reply. Its entry is in this process's own outbox: commit it.
    const isOwn = bucket.isOwn(textOf(place));
    const duplicate = kind !== "posted" && !isOwn;
    if (duplicate) bucket.outbox.unsent.delete(posting.callId);
    else {
      const entryId = `${bucket.name}|${textOf(place)}`;
      const entry = entryOf(entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text);
      this.options.commits.add(bucket, entry);
    }
    return { chargedMicroVnd, writtenOffMicroVnd, duplicate };
  }

  /**
   * Writes a post to the disk. Resolves once it is durable. Rejects if the disk does not take it: if Redis may have it, its
   * caller posts the call again, or voids it.
   */
  private async spoolPost(
    { outbox }: Bucket,
    posting: Posting,
    sent: Sent,
    mayBeInRedis: boolean,
  ): Promise<Posted> {
    if (this.spool === undefined)
      throw new Error("the hold store is not started; call start first");
    const { callId, costMicroVnd } = posting;
    const entry = entryOf("", posting, costMicroVnd, 0);
    const written = this.spool.add(entry).then(
      ({ drop }) => {
        failpoint("spool.kept");
        Object.assign(post, { state: "kept", drop });
        return { chargedMicroVnd: costMicroVnd, writtenOffMicroVnd: 0, duplicate: false };
      },
      (error: unknown) => {
        if (mayBeInRedis) post.state = "left";
        else outbox.unsent.delete(callId);
        throw error;
      },
    );
    const post: UnsentPost = { entry, sent, state: "writing", written };
    outbox.unsent.set(callId, post);
    return written.finally(() => delete post.written);
  }
}
