import { randomUUID } from "node:crypto";
import { failpoint } from "../failpoint.ts";
import type { Log } from "../log.ts";
import { MICRO_VND_MAX, type MicroVnd } from "../money.ts";
import { encodeEntry } from "./entry.ts";
import type {
  Balances,
  CreditTotal,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  HotStore,
  OutboxEntry,
  Posted,
  Posting,
  WalletSnapshot,
} from "./hot.ts";
import { RecentCalls } from "./recent.ts";
import { Announcer } from "./redis/announcer.ts";
import { asReply, Bucket, NotMember, type Reply } from "./redis/bucket.ts";
import { BUCKETS, bucketIndexOf } from "./redis/buckets.ts";
import { isUnknownScript, type RedisClient } from "./redis/client.ts";
import { Keeper, type KeeperSettings } from "./redis/keeper.ts";
import { amountOf, listOf, textOf } from "./redis/look.ts";
import { Offers, type Truth } from "./redis/offers.ts";
import { Pulse } from "./redis/pulse.ts";
import { Settlement } from "./redis/settlement.ts";
import { Spool, type SpoolOptions } from "./redis/spool.ts";

export interface RedisHotOptions {
  /** Connected and disconnected by the store. */
  readonly client: RedisClient;
  /** What all keys begin with. */
  readonly prefix: string;
  /** Fixed for good, except in tests. */
  readonly buckets?: number;
  readonly timing?: KeeperSettings;
  readonly spool: SpoolOptions;
  /** Holds are refused while more calls posted by this process than this wait for the ledger. */
  readonly outboxEntriesMax: number;
  readonly truth: Truth;
  readonly log: Log;
}

/** A hold of a call that runs in this process. */
interface OpenHold {
  readonly bucket: Bucket;
  readonly keyId: string;
  /** Of the bucket, when the hold was taken: one of an earlier epoch is gone. */
  epoch: string;
}

export const PRODUCTION_TIMING: KeeperSettings = {
  heartbeatMs: 1_000,
  leaseMs: 10_000,
  graceMs: 1_500,
};
const START_TIMEOUT_MS = 30_000;
const JOIN_WAIT_MS = 900;
const OPEN_ATTEMPTS = 3;
const LEAVE_TIMEOUT_MS = 1_000;
/** A call is remembered after its post until it is settled, a day at most: then two posts of one call are one. */
const CALL_KEPT_MS = "86400000";
/** Calls posted here last that answer for themselves, even where Redis has forgotten them. */
const RECENT_CALLS = 4_096;
const ACCOUNTS_REMEMBERED = 10_000;
const SPOOLED_POST_BYTES = 1_024;
/** Every so many rounds, what Redis holds for this process is compared with the calls that it runs. */
const AUDIT_EVERY_ROUNDS = 10;

/**
 * The hot store of many processes: wallets, holds and the outbox in Redis, or in a cluster of them. Every
 * operation on money is one script on one slot. See `keeper.ts` for what happens when Redis or a process fails.
 */
export class RedisHotStore implements HotStore {
  private readonly options: RedisHotOptions;
  private readonly buckets: readonly Bucket[];
  private readonly keepers = new Map<Bucket, Keeper>();
  private readonly pulses = new Map<Bucket, Pulse>();
  private readonly rounds = new Map<Bucket, number>();
  private readonly holds = new Map<string, OpenHold>();
  private readonly bucketByAccount = new Map<string, Bucket>();
  private readonly opening = new Map<string, Promise<boolean>>();
  private readonly revoked = new Set<string>();
  private readonly recent = new RecentCalls(RECENT_CALLS);
  private readonly announcer: Announcer;
  private readonly settlement: Settlement;
  private readonly offers: Offers;
  private spool: Spool | undefined;
  private stopped = false;

  constructor(options: RedisHotOptions) {
    this.options = options;
    this.announcer = new Announcer(options.log);
    const { client, prefix, timing = PRODUCTION_TIMING } = options;
    const process = randomUUID();
    this.buckets = Array.from({ length: options.buckets ?? BUCKETS }, (_, index) => {
      const onTrouble = (bucket: Bucket, error: unknown) => this.trouble(bucket, error);
      return new Bucket({ index, prefix, process, client, onTrouble });
    });
    this.settlement = new Settlement({
      client,
      buckets: this.buckets,
      keepers: this.keepers,
      leaseMs: timing.leaseMs,
      log: options.log,
    });
    this.offers = new Offers(options.truth, {
      post: (bucket, posting) => this.postTo(bucket, posting, asReply),
      open: (accountId) => this.open(accountId, () => options.truth.wallet(accountId)),
      keep: (bucket, entry) => this.settlement.keep(bucket, entry),
      over: (_, callId) => this.holds.delete(callId),
    });
    const events = this.keeperEvents();
    for (const bucket of this.buckets) {
      const keeper = new Keeper(bucket, client, timing, events);
      this.keepers.set(bucket, keeper);
      this.pulses.set(bucket, new Pulse(() => keeper.step(performance.now())));
    }
  }

  async start(): Promise<void> {
    const spool = await Spool.open(this.options.spool);
    this.spool = spool;
    for (const { posting, done } of spool.recovered) {
      const offer = { posting, sentAtMs: Number.NEGATIVE_INFINITY, done };
      this.offers.add(this.bucketOf(posting.accountId), offer);
    }
    if (this.offers.size > 0) {
      this.options.log.info({ calls: this.offers.size }, "replaying spooled posts");
      failpoint("spool.replaying");
    }
    this.options.client.connect(() => this.hurry());
    for (const pulse of this.pulses.values()) pulse.start();
    const ready = Promise.all(this.buckets.map((bucket) => bucket.whenOpen()));
    if (await isLate(ready, START_TIMEOUT_MS)) {
      await this.stop();
      throw new Error(`stores.hot: redis was not ready within ${START_TIMEOUT_MS / 1_000} s`);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.settlement.stop();
    await Promise.all([...this.pulses.values()].map((pulse) => pulse.stop()));
    const left = [...this.keepers.values()].map((keeper) => keeper.leave().catch(() => {}));
    await isLate(Promise.all(left), LEAVE_TIMEOUT_MS);
    this.options.client.disconnect();
    await this.spool?.close();
  }

  hold(request: HoldRequest): HoldResult | Promise<HoldResult> {
    const { callId, accountId, keyId } = request;
    requireMicroVnd(request.amountMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.bucketOf(accountId);
    if (bucket.state === "joining") return { kind: "unknown" };
    const reason = this.refusal(bucket);
    if (reason !== undefined) return { kind: "unavailable", reason };
    const known = this.holds.get(callId);
    const { epoch } = bucket;
    if (known === undefined) this.holds.set(callId, { bucket, keyId, epoch });
    else known.epoch = epoch;
    return this.sendHold(bucket, request).catch((error: unknown) => {
      // Whether it was taken nobody knows; a later audit gives back what no call here holds.
      this.holds.delete(callId);
      return isJoining(error) ? { kind: "unknown" } : unavailable(error);
    });
  }

  async extend(request: ExtendRequest): Promise<ExtendResult> {
    requireMicroVnd(request.totalMicroVnd);
    requireMicroVnd(request.floorMicroVnd);
    const bucket = this.bucketOf(request.accountId);
    return this.asMember(bucket, async () => {
      // Looked up at each attempt: the hold may go while the bucket is joined again.
      const hold = this.holds.get(request.callId);
      if (hold === undefined) return { kind: "gone" };
      if (hold.epoch !== bucket.epoch) return this.holdAgain(request, hold);
      const { callId, totalMicroVnd, floorMicroVnd } = request;
      const args = [callId, String(totalMicroVnd), String(floorMicroVnd)];
      const [kind, amount] = await bucket.run("extend", [], args, asReply);
      if (kind === "held") return { kind, amountMicroVnd: amountOf(amount) };
      if (kind === "short") return { kind, availableMicroVnd: amountOf(amount) };
      return { kind: "gone" };
    });
  }

  post(posting: Posting): Posted | Promise<Posted> {
    requireMicroVnd(posting.costMicroVnd);
    const before = this.recent.get(posting.callId) ?? this.offers.find(posting.callId);
    if (before !== undefined) return { ...before, duplicate: true };
    const bucket = this.bucketOf(posting.accountId);
    const sentAtMs = performance.now();
    if (bucket.state !== "ready") return this.spoolPost(bucket, posting, sentAtMs);
    const answer = (reply: Reply) => this.posted(bucket, posting, reply, sentAtMs);
    return this.postTo(bucket, posting, answer).catch(() =>
      this.spoolPost(bucket, posting, sentAtMs),
    );
  }

  async void(callId: string, accountId: string): Promise<void> {
    this.holds.delete(callId);
    const bucket = this.bucketOf(accountId);
    // Where this fails, an audit gives the hold back.
    if (bucket.state === "ready") await bucket.run("void", [], [callId], asReply).catch(() => {});
  }

  open(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean> {
    const running = this.opening.get(accountId);
    if (running !== undefined) return running;
    const opening = this.install(accountId, read).finally(() => this.opening.delete(accountId));
    this.opening.set(accountId, opening);
    return opening;
  }

  async credit(movement: CreditTotal): Promise<void> {
    const { accountId, creditVersion, creditedMicroVnd, releasedCallId } = movement;
    const bucket = this.bucketOf(accountId);
    const args = [
      accountId,
      String(creditVersion),
      String(creditedMicroVnd),
      releasedCallId ?? "",
      String(MICRO_VND_MAX),
    ];
    const [kind] = await this.asMember(bucket, () => bucket.run("credit", [], args, asReply));
    if (kind === "range") throw new RangeError(`account ${accountId} would hold too much money`);
    if (releasedCallId !== null) this.holds.delete(releasedCallId);
  }

  async balances(accountId: string): Promise<Balances | undefined> {
    const bucket = this.bucketOf(accountId);
    await this.whenReady(bucket);
    return this.readWallet(bucket, accountId);
  }

  async *openWallets(): AsyncGenerator<Balances & { accountId: string }> {
    for (const bucket of this.buckets) {
      await this.whenReady(bucket);
      let cursor = "0";
      do {
        const args = [bucket.walletsKey, cursor, "MATCH", "*:a", "COUNT", "100"];
        const [next, fields] = listOf(await this.options.client.call("HSCAN", ...args));
        cursor = textOf(next);
        for (const [at, field] of listOf(fields).entries()) {
          if (at % 2 === 1) continue;
          const accountId = textOf(field).slice(0, -2);
          const balances = await this.readWallet(bucket, accountId);
          if (balances !== undefined) yield { accountId, ...balances };
        }
      } while (cursor !== "0");
    }
  }

  async revoke(keyId: string): Promise<void> {
    this.revoked.add(keyId);
    const { client } = this.options;
    await Promise.all(this.buckets.map(({ revokedKey }) => client.call("SADD", revokedKey, keyId)));
  }

  read(max: number, waitMs: number): Promise<OutboxEntry[]> {
    return this.settlement.read(max, waitMs);
  }

  acknowledge(entries: readonly OutboxEntry[]): Promise<void> {
    return this.settlement.acknowledge(entries);
  }

  backlog(): number {
    return this.settlement.size + this.offers.size;
  }

  /** Remembered, since to hash an id takes a microsecond, and each call asks three times. */
  private bucketOf(accountId: string): Bucket {
    const known = this.bucketByAccount.get(accountId);
    if (known !== undefined) return known;
    const bucket = this.buckets[bucketIndexOf(accountId, this.buckets.length)];
    if (bucket === undefined) throw new Error("the store has no buckets");
    if (this.bucketByAccount.size >= ACCOUNTS_REMEMBERED) this.bucketByAccount.clear();
    this.bucketByAccount.set(accountId, bucket);
    return bucket;
  }

  /** Why no hold is taken now: every hold must find room for its post. */
  private refusal(bucket: Bucket): string | undefined {
    if (bucket.state !== "ready") return "redis is away";
    const waiting = this.settlement.size;
    if (waiting >= this.options.outboxEntriesMax) {
      return `${waiting} posted calls wait for the ledger, which is the most that may`;
    }
    return this.spool?.refusal((this.holds.size + 1) * SPOOLED_POST_BYTES);
  }

  private sendHold(bucket: Bucket, request: HoldRequest): Promise<HoldResult> {
    const { callId, accountId, keyId, amountMicroVnd, floorMicroVnd } = request;
    // Money that an operator takes away is not given back because a process ends: it has no key, and no lease.
    const holder = keyId === "" ? "" : bucket.process;
    const amounts = [String(amountMicroVnd), String(floorMicroVnd)];
    const args = [callId, accountId, keyId, ...amounts, holder];
    return bucket.run("hold", [bucket.revokedKey], args, (reply) => {
      const result = readHold(reply);
      if (result.kind !== "held") this.holds.delete(callId);
      return result;
    });
  }

  /** Redis has lost the hold of a call that runs: the call goes on where its wallet affords it anew. */
  private async holdAgain(request: ExtendRequest, hold: OpenHold): Promise<ExtendResult> {
    const { callId, accountId, totalMicroVnd, floorMicroVnd } = request;
    const { bucket, keyId } = hold;
    const amounts = { amountMicroVnd: totalMicroVnd, floorMicroVnd };
    await this.open(accountId, () => this.options.truth.wallet(accountId));
    const result = await this.sendHold(bucket, { callId, accountId, keyId, ...amounts });
    if (result.kind === "held") hold.epoch = bucket.epoch;
    if (result.kind === "held" || result.kind === "short") return result;
    return { kind: "gone" };
  }

  private postTo<T>(bucket: Bucket, posting: Posting, answer: (reply: Reply) => T): Promise<T> {
    const { callId, accountId, costMicroVnd } = posting;
    const entry = { entryId: "", posting, chargedMicroVnd: 0, writtenOffMicroVnd: 0 };
    const keys = [bucket.outboxKey, bucket.callKey(callId)];
    const text = encodeEntry(entry);
    const args = [callId, accountId, String(costMicroVnd), text, bucket.epoch, CALL_KEPT_MS];
    return bucket.run("post", keys, args, answer);
  }

  private posted(bucket: Bucket, posting: Posting, reply: Reply, sentAtMs: number): Posted {
    const [kind, charged, writtenOff, place] = reply;
    const { callId } = posting;
    if (kind === "unknown") return this.spoolPost(bucket, posting, sentAtMs);
    this.holds.delete(callId);
    const chargedMicroVnd = amountOf(charged);
    const writtenOffMicroVnd = amountOf(writtenOff);
    const duplicate = kind !== "posted";
    if (!duplicate) {
      const entryId = `${bucket.name}|${textOf(place)}`;
      this.settlement.keep(bucket, { entryId, posting, chargedMicroVnd, writtenOffMicroVnd });
    }
    const posted = { chargedMicroVnd, writtenOffMicroVnd, duplicate };
    this.recent.add(callId, posted, 0, 0);
    return posted;
  }

  /** Redis may have the post or not: it is on the disk before the caller hears that it is safe. */
  private spoolPost(bucket: Bucket, posting: Posting, sentAtMs: number): Posted {
    if (this.spool === undefined) throw new Error("the hot store is not started");
    const { done } = this.spool.add(posting);
    failpoint("spool.kept");
    this.offers.add(bucket, { posting, sentAtMs, done });
    return { chargedMicroVnd: posting.costMicroVnd, writtenOffMicroVnd: 0, duplicate: false };
  }

  private async install(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
  ): Promise<boolean> {
    const bucket = this.bucketOf(accountId);
    for (let attempt = 1; ; attempt += 1) {
      await bucket.whenOpen();
      if ((await this.readWallet(bucket, accountId)) !== undefined) return true;
      // Whatever other processes still keep is in the ledger, or this bucket would not be open; and no call
      // can be posted for a wallet that is not. So a reading that begins now has all of them.
      const snapshot = await read();
      if (snapshot === undefined) return false;
      failpoint("wallet.read");
      const balance = Number(snapshot.balanceMicroVnd);
      requireMicroVnd(balance);
      try {
        const { creditVersion, creditedMicroVnd } = snapshot;
        const args = [accountId, String(balance), String(creditVersion), String(creditedMicroVnd)];
        const [kind] = await bucket.run("install", [bucket.openKey], args, asReply);
        failpoint("wallet.installed");
        if (kind === "open") return true;
      } catch (error) {
        if (!isJoining(error)) throw error;
      }
      if (attempt >= OPEN_ATTEMPTS) throw new Error(`the wallet of ${accountId} changes too fast`);
    }
  }

  private async readWallet(bucket: Bucket, accountId: string): Promise<Balances | undefined> {
    const fields = ["a", "h", "p"].map((part) => `${accountId}:${part}`);
    const { client } = this.options;
    const [available, held, pending] = listOf(
      await client.call("HMGET", bucket.walletsKey, ...fields),
    );
    if (typeof available !== "string") return undefined;
    return {
      availableMicroVnd: Number(available),
      heldMicroVnd: Number(textOf(held)),
      pendingMicroVnd: Number(textOf(pending)),
    };
  }

  /** Does something that only a member of the bucket can, again where it had to be joined first. */
  private async asMember<T>(bucket: Bucket, work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      await this.whenReady(bucket);
      try {
        return await work();
      } catch (error) {
        if (attempt >= OPEN_ATTEMPTS || !isJoining(error)) throw error;
      }
    }
  }

  /** Waits for a bucket that is being joined; rejects where Redis is away, or it takes too long. */
  private async whenReady(bucket: Bucket): Promise<void> {
    if (bucket.state === "ready" && bucket.open) return;
    if (bucket.state === "away") throw new Error("redis is away");
    if (await isLate(bucket.whenOpen(), JOIN_WAIT_MS)) throw new NotMember(bucket.name);
  }

  private trouble(bucket: Bucket, error: unknown): void {
    const wasReady = bucket.state === "ready";
    const isAway = !isJoining(error);
    bucket.setState(isAway ? "away" : "joining", false);
    if (isAway && !this.stopped) this.announcer.isAway(bucket.name, error);
    // What has struck one bucket has mostly struck all: they find out now instead of at their next heartbeat.
    if (wasReady) this.hurry();
  }

  private hurry(): void {
    for (const pulse of this.pulses.values()) pulse.hurry();
  }

  private keeperEvents(): ConstructorParameters<typeof Keeper>[3] {
    return {
      moved: () => this.announcer.moved(),
      leftBehind: (bucket) => this.offerUnsettled(bucket),
      expelled: (bucket) => {
        this.announcer.expelled();
        this.offerUnsettled(bucket);
        for (const [callId, hold] of this.holds) {
          if (hold.bucket === bucket) this.holds.delete(callId);
        }
      },
      joined: async (bucket) => {
        bucket.owed = [];
        if (this.revoked.size === 0) return;
        await this.options.client.call("SADD", bucket.revokedKey, ...this.revoked);
      },
      reaped: (_, process, voidedHolds) => this.announcer.reaped(process, voidedHolds),
      tended: (bucket) => this.tended(bucket),
      isSettling: (bucket) => this.settlement.isSettling(bucket),
    };
  }

  /** Nobody here knows any more which of these posts are in the ledger, and which only in this memory. */
  private offerUnsettled(bucket: Bucket): void {
    for (const { posting } of this.settlement.release(bucket)) {
      const offer = { posting, sentAtMs: Number.NEGATIVE_INFINITY, done() {} };
      this.offers.add(bucket, offer);
    }
  }

  private tended(bucket: Bucket): void {
    this.announcer.isBack(bucket.name);
    if ((this.keepers.get(bucket)?.claimed.size ?? 0) > 0) this.settlement.rouse();
    if (!bucket.open) return;
    this.settlement.payOwed(bucket).catch(() => {});
    void this.offers.drain(bucket, () => performance.now());
    const round = this.rounds.get(bucket) ?? 0;
    this.rounds.set(bucket, round + 1);
    if (round % AUDIT_EVERY_ROUNDS === 0) this.audit(bucket).catch(() => {});
  }

  /** Gives back holds in the name of this process that none of its calls has. */
  private async audit(bucket: Bucket): Promise<void> {
    const held = await this.keepers.get(bucket)?.held();
    const lost = held?.filter((callId) => !this.holds.has(callId)) ?? [];
    await Promise.all(lost.map((callId) => bucket.run("void", [], [callId], asReply)));
  }
}

function requireMicroVnd(amount: MicroVnd): void {
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new RangeError(`not an amount of µđ between 0 and ${MICRO_VND_MAX}: ${amount}`);
  }
}

function readHold([kind, amount]: Reply): HoldResult {
  switch (kind) {
    case "held":
      return { kind, amountMicroVnd: amountOf(amount) };
    case "short":
      return { kind, availableMicroVnd: amountOf(amount) };
    case "revoked":
    case "unknown":
      return { kind };
    default:
      throw new Error(`redis answered ${String(kind)} to a hold`);
  }
}

function isJoining(error: unknown): boolean {
  return error instanceof NotMember || isUnknownScript(error);
}

function unavailable(error: unknown): HoldResult {
  const why = error instanceof Error ? error.message : String(error);
  return { kind: "unavailable", reason: `redis is away: ${why}` };
}

/** Whether the time is over before the work is. */
async function isLate(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(resolve, limitMs, true);
  });
  try {
    return (await Promise.race([work, late])) === true;
  } finally {
    clearTimeout(timer);
  }
}
