import { randomUUID } from "node:crypto";
import type {
  Awaitable,
  Balances,
  CreditTotal,
  ExtendRequest,
  ExtendResult,
  HoldRequest,
  HoldResult,
  HotHealth,
  HotStore,
  LimitBalances,
  LimitSnapshot,
  OutboxEntry,
  Posted,
  Posting,
  WalletSnapshot,
} from "../../contract/hold-store.ts";
import type { Log } from "../../process/log.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { TIMED_OUT, withTimeout } from "../../process/timeout.ts";
import { BUCKETS } from "../../redis/buckets.ts";
import type { RedisClient } from "../../redis/client.ts";
import { refuseEviction } from "../../redis/eviction.ts";
import { isJoining } from "./as-member.ts";
import { Bucket } from "./bucket.ts";
import { BucketMap } from "./bucket-map.ts";
import { Settlement } from "./commits.ts";
import { Holds } from "./holds.ts";
import { Keeper, type KeeperEvents, type KeeperSettings } from "./membership.ts";
import { Announcer } from "./outage-log.ts";
import { Posts } from "./posts.ts";
import type { Truth } from "./resender.ts";
import { Revocations } from "./revocations.ts";
import type { SpoolOptions } from "./spool.ts";
import { RedisWallets } from "./wallets.ts";

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

export const PRODUCTION_TIMING: KeeperSettings = {
  heartbeatMs: 1_000,
  leaseMs: 10_000,
  graceMs: 1_500,
};
const START_TIMEOUT_MS = 30_000;
const LEAVE_TIMEOUT_MS = 1_000;
/** Every so many rounds, what Redis holds for this process is compared with the calls that it runs. */
const AUDIT_EVERY_ROUNDS = 10;

/**
 * The hot store of many processes: wallets, holds and the outbox in Redis, or in a cluster of them. Every
 * operation on money is one script on one slot. See `keeper.ts` for what happens when Redis or a process fails.
 */
export class RedisHotStore implements HotStore {
  private readonly client: RedisClient;
  private readonly outboxEntriesMax: number;
  private readonly buckets: readonly Bucket[];
  private readonly keepers = new Map<Bucket, Keeper>();
  private readonly pulses: readonly PeriodicTask[];
  private readonly rounds = new Map<Bucket, number>();
  private readonly announcer: Announcer;
  private readonly revocations: Revocations;
  private readonly settlement: Settlement;
  private readonly wallets: RedisWallets;
  private readonly holds: Holds;
  private readonly posts: Posts;
  private stopped = false;

  constructor(options: RedisHotOptions) {
    const { client, prefix, log, truth, timing = PRODUCTION_TIMING } = options;
    this.client = client;
    this.outboxEntriesMax = options.outboxEntriesMax;
    this.announcer = new Announcer(log);
    const process = randomUUID();
    const onTrouble = (bucket: Bucket, error: unknown) => this.trouble(bucket, error);
    this.buckets = Array.from(
      { length: options.buckets ?? BUCKETS },
      (_, index) => new Bucket({ index, prefix, process, client, onTrouble }),
    );
    const buckets = new BucketMap(this.buckets);
    const { keepers } = this;
    this.revocations = new Revocations(client, this.buckets);
    this.settlement = new Settlement({
      client,
      buckets: this.buckets,
      keepers,
      leaseMs: timing.leaseMs,
      log,
    });
    this.wallets = new RedisWallets(client, buckets);
    this.holds = new Holds({
      buckets,
      wallets: this.wallets,
      readWallet: (accountId) => truth.wallet(accountId),
      refusal: (openHolds) => this.refusal(openHolds),
    });
    const { wallets, holds, settlement } = this;
    const { spool } = options;
    this.posts = new Posts({ buckets, wallets, holds, settlement, spool, truth, log });
    const events = this.keeperEvents();
    this.pulses = this.buckets.map((bucket) => {
      const keeper = new Keeper(bucket, client, timing, events);
      keepers.set(bucket, keeper);
      return new PeriodicTask(() => keeper.step(performance.now()));
    });
  }

  async start(): Promise<void> {
    await this.posts.start();
    this.client.connect(() => this.hurry());
    for (const pulse of this.pulses) pulse.start();
    const ready = Promise.all(this.buckets.map((bucket) => bucket.whenOpen()));
    while ((await withTimeout(ready, START_TIMEOUT_MS)) === TIMED_OUT) {
      // Where Redis answers, it is others who are waited for: a start from the beginning would wait longer.
      if (this.buckets.every((bucket) => bucket.state !== "away")) continue;
      await this.stop();
      throw new Error(`stores.hot: redis was not ready within ${START_TIMEOUT_MS / 1_000} s`);
    }
    await refuseEviction(this.client).catch(async (error: unknown) => {
      await this.stop();
      throw error;
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.settlement.stop();
    await Promise.all(this.pulses.map((pulse) => pulse.stop()));
    const left = [...this.keepers.values()].map((keeper) => keeper.leave().catch(() => {}));
    await withTimeout(Promise.all(left), LEAVE_TIMEOUT_MS);
    this.client.disconnect();
    await this.posts.stop();
  }

  hold(request: HoldRequest): Awaitable<HoldResult> {
    return this.holds.hold(request);
  }

  extend(request: ExtendRequest): Promise<ExtendResult> {
    return this.holds.extend(request);
  }

  post(posting: Posting): Awaitable<Posted> {
    return this.posts.post(posting);
  }

  postAll(postings: readonly Posting[]): (Awaitable<Posted> | Error)[] {
    return this.posts.postAll(postings);
  }

  void(callId: string, accountId: string): Promise<void> {
    return this.holds.void(callId, accountId);
  }

  open(accountId: string, read: () => Promise<WalletSnapshot | undefined>): Promise<boolean> {
    return this.wallets.open(accountId, read);
  }

  async credit(movement: CreditTotal): Promise<void> {
    await this.wallets.credit(movement);
    if (movement.releasedCallId !== null) this.holds.over(movement.releasedCallId);
  }

  setLimit(accountId: string, limit: LimitSnapshot): Promise<boolean> {
    return this.wallets.setLimit(accountId, limit);
  }

  dropLimit(accountId: string, name: string): Promise<boolean> {
    return this.wallets.dropLimit(accountId, name);
  }

  limit(accountId: string, name: string): Promise<LimitBalances | undefined> {
    return this.wallets.limit(accountId, name);
  }

  balances(accountId: string): Promise<Balances | undefined> {
    return this.wallets.balances(accountId);
  }

  openWallets(): AsyncGenerator<string[]> {
    return this.wallets.all();
  }

  revoke(keyId: string): Promise<void> {
    return this.revocations.revoke(keyId);
  }

  restore(keyId: string): Promise<void> {
    return this.revocations.restore(keyId);
  }

  read(max: number, waitMs: number): Promise<OutboxEntry[]> {
    return this.settlement.read(max, waitMs);
  }

  acknowledge(entries: readonly OutboxEntry[]): Promise<void> {
    return this.settlement.acknowledge(entries);
  }

  backlog(): number {
    return this.settlement.size + this.posts.waiting;
  }

  uncommitted(callId: string): OutboxEntry | undefined {
    return this.settlement.find(callId);
  }

  health(): HotHealth {
    const reason = this.refusal(0);
    if (reason !== undefined) return { kind: "away", reason };
    const out = this.buckets.filter(({ state, open }) => state !== "ready" || !open);
    if (out.length === 0) return { kind: "ok" };
    const isAway = out.length === this.buckets.length;
    return {
      kind: isAway ? "away" : "impaired",
      reason: isAway ? "redis is away" : `redis is away for ${out.length} buckets of accounts`,
    };
  }

  /** Why no hold is taken now: every hold must find room for its post. */
  private refusal(openHolds: number): string | undefined {
    const waiting = this.settlement.size;
    if (waiting >= this.outboxEntriesMax) {
      return `${waiting} posted calls wait for the ledger, which is the most that may`;
    }
    return this.posts.refusal(openHolds + 1);
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
    for (const pulse of this.pulses) pulse.hurry();
  }

  private keeperEvents(): KeeperEvents {
    return {
      failed: (bucket, error) => this.trouble(bucket, error),
      moved: () => this.announcer.moved(),
      leftBehind: (bucket) => this.posts.offerUnsettled(bucket),
      expelled: (bucket) => {
        this.announcer.expelled();
        this.posts.offerUnsettled(bucket);
        this.holds.lapse(bucket);
      },
      joined: async (bucket) => {
        bucket.owed = [];
        await this.revocations.tellAll(bucket);
      },
      reaped: (_, process, voidedHolds) => this.announcer.reaped(process, voidedHolds),
      tended: (bucket) => this.tended(bucket),
      isSettling: (bucket) => this.settlement.isSettling(bucket),
    };
  }

  private tended(bucket: Bucket): void {
    this.announcer.isBack(bucket.name);
    if ((this.keepers.get(bucket)?.claimed.size ?? 0) > 0) this.settlement.rouse();
    this.revocations.tellRest(bucket).catch(() => {});
    if (!bucket.open) return;
    this.settlement.payOwed(bucket).catch(() => {});
    void this.posts.drain(bucket);
    const round = this.rounds.get(bucket) ?? 0;
    this.rounds.set(bucket, round + 1);
    if (round % AUDIT_EVERY_ROUNDS === 0) this.audit(bucket).catch(() => {});
  }

  private async audit(bucket: Bucket): Promise<void> {
    const held = await this.keepers.get(bucket)?.held();
    if (held !== undefined) await this.holds.audit(bucket, held);
  }
}
