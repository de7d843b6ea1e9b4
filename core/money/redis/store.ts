import { failpoint } from "../../process/failpoint.ts";
import { type Machine, systemMachine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { withTimeout } from "../../process/timeout.ts";
import { bucketsOf } from "../../redis/buckets.ts";
import type {
  CreditTotal,
  ExtendRequest,
  HoldRequest,
  HoldStore,
  HoldStoreHealth,
  RestoreResult,
  WalletSnapshot,
} from "../hold-store.ts";
import { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { DebitEntry, Posting, StoredEntry } from "../outbox-entry.ts";
import type { Bucket } from "./bucket.ts";
import { BucketMap } from "./bucket-map.ts";
import { RedisChanges } from "./changes.ts";
import { Commits } from "./commits.ts";
import { healthOfStore, whenServing } from "./health.ts";
import { Holds } from "./holds.ts";
import { IdleWallets } from "./idle-wallets.ts";
import { RedisKeptProgress } from "./kept-progress.ts";
import { BucketKeys } from "./keys.ts";
import { Membership, type MembershipEvents } from "./membership.ts";
import { OutageLog } from "./outage-log.ts";
import { Posts } from "./posts.ts";
import { Revocations } from "./revocations.ts";
import { standingCalls } from "./standing.ts";
import type { RedisHoldStoreOptions } from "./store-options.ts";
import { RedisWallets } from "./wallets.ts";

/**
 * The hold store that several processes share, in Redis or a cluster. Every operation on money is one script on one
 * slot. `membership.ts` handles failures of Redis and of processes.
 */
export class RedisHoldStore implements HoldStore {
  private readonly options: RedisHoldStoreOptions;
  private readonly machine: Machine;
  private readonly buckets: readonly Bucket[];
  private readonly memberships = new Map<Bucket, Membership>();
  private readonly rounds: readonly PeriodicTask[];
  private readonly outageLog: OutageLog;
  private readonly revocations: Revocations;
  private readonly commits: Commits;
  private readonly wallets: RedisWallets;
  private readonly changes: RedisChanges;
  private readonly holds: Holds;
  private readonly posts: Posts;
  private readonly idle: IdleWallets;
  private readonly watch: LedgerWatch;
  private readonly startTimeoutMs: number;
  private stopped = false;
  private isRestoring = false;

  constructor(options: RedisHoldStoreOptions) {
    const { client, prefix, log, ledger, machine = systemMachine } = options;
    const { heartbeatMs, clusterHeartbeatMs } = LIFETIMES;
    const beat = { heartbeatMs: client.isCluster ? clusterHeartbeatMs : heartbeatMs };
    const times = { ...LIFETIMES, ...beat, ...options.times };
    const spool = { machine, ...options.spool };
    this.startTimeoutMs = times.startTimeoutMs;
    this.options = options;
    this.machine = machine;
    this.outageLog = new OutageLog(log, () => machine.monotonic());
    const process = machine.uuid();
    const { memberships } = this;
    const { epochs } = ledger;
    const shared = { process, client, times, machine, epochs, events: this.membershipEvents() };
    const count = options.buckets ?? bucketsOf(client);
    const keys = Array.from({ length: count }, (_, index) => new BucketKeys(prefix, index));
    for (const each of keys) {
      const membership = new Membership(each, shared);
      memberships.set(membership.bucket, membership);
    }
    this.buckets = [...memberships.keys()];
    this.rounds = Array.from(
      memberships.values(),
      (each) => new PeriodicTask(() => this.step(each), machine),
    );
    const kept = new RedisKeptProgress(client, this.buckets);
    this.watch = new LedgerWatch({ history: ledger.history, kept, machine, log });
    const { watch } = this;
    const buckets = new BucketMap(this.buckets);
    this.revocations = new Revocations(client, buckets, machine);
    this.commits = new Commits({ client, buckets: this.buckets, memberships, machine, log, watch });
    this.wallets = new RedisWallets(client, buckets);
    this.changes = new RedisChanges(buckets, ledger);
    const { wallets, commits } = this;
    const auditRounds = Math.ceil(LIFETIMES.auditMs / beat.heartbeatMs);
    const refusal = this.refusal.bind(this);
    this.holds = new Holds({ buckets, wallets, ledger, refusal, auditRounds });
    const { holds } = this;
    this.posts = new Posts({ buckets, wallets, holds, commits, spool, ledger, machine, log });
    this.idle = new IdleWallets({ memberships, wallets, times, machine });
  }

  async start(): Promise<void> {
    await this.posts.start();
    this.options.client.connect(() => this.hurry());
    try {
      await this.watch.requireHome(this.startTimeoutMs);
      for (const task of this.rounds) task.start();
      if (this.watch.isHome)
        await whenServing(this.buckets, this.startTimeoutMs, this.machine, this.options.log);
    } catch (error) {
      await this.stop();
      throw error;
    }
    await this.watch.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.watch.stop();
    this.commits.stop();
    await Promise.all(this.rounds.map((task) => task.stop()));
    const left = Array.from(this.memberships.values(), (each) => each.leave().catch(() => {}));
    await withTimeout(Promise.all(left), LIFETIMES.leaveTimeoutMs, this.machine);
    this.options.client.disconnect();
    await this.posts.stop();
  }

  hold(request: HoldRequest) {
    return this.holds.hold(request);
  }

  extend(request: ExtendRequest) {
    return this.holds.extend(request);
  }

  post(posting: Posting) {
    return this.posts.post(posting);
  }

  postAll(postings: readonly Posting[]) {
    return this.posts.postAll(postings);
  }

  debit(entry: DebitEntry) {
    return this.posts.debit(entry);
  }

  void(callId: string, accountId: string): Promise<void> {
    return this.posts.voidUnheard(callId, accountId) ?? this.holds.void(callId, accountId);
  }

  load(
    accountId: string,
    read: () => Promise<WalletSnapshot | undefined>,
    purse?: string,
  ): Promise<boolean> {
    return this.wallets.load(accountId, read, purse);
  }

  credit(movement: CreditTotal): Promise<boolean> {
    return this.changes.credit(movement, this.watch.keep());
  }

  balances(accountId: string, purse?: string | null) {
    return this.wallets.balances(accountId, purse);
  }

  loadedVersions() {
    return this.wallets.versions();
  }

  revoke(keyId: string, accountId: string): Promise<void> {
    return this.revocations.revoke(keyId, accountId);
  }

  restore(keyId: string, accountId: string): Promise<void> {
    return this.revocations.restore(keyId, accountId);
  }

  read(max: number, waitMs: number): Promise<StoredEntry[]> {
    return this.commits.read(max, waitMs);
  }

  acknowledge(entries: readonly StoredEntry[]): Promise<void> {
    return this.commits.acknowledge(entries);
  }

  uncommittedCalls(): number {
    return this.commits.size + this.posts.unconfirmed;
  }

  unsent() {
    return this.posts.unsent();
  }

  unsyncedMs(): number {
    return this.posts.unsyncedMs;
  }

  findUncommitted(callId: string) {
    return this.commits.find(callId);
  }

  standing() {
    return standingCalls(this.options.client, this.buckets);
  }

  health(): HoldStoreHealth {
    return healthOfStore(this.buckets, this.watch, this.noRoom(0));
  }

  ledgerWentBack(): boolean {
    return this.watch.wentBack;
  }

  /**
   * Drops every wallet, and then accepts that the ledger lost commits: the page on money says why in this order. Rejects
   * if a bucket cannot be reached; it is safe to repeat. Resolves once wallets load here again, so that the operator's next
   * command finds them: a new epoch opens in milliseconds, or after the lease of a gateway that is dead.
   */
  async restoreFromLedger(): Promise<RestoreResult> {
    this.isRestoring = true;
    try {
      this.hurry();
      await Promise.all(Array.from(this.memberships.values(), (each) => each.endNow()));
      failpoint("restore.epochs");
      await this.watch.restored();
      failpoint("restore.accepted");
    } finally {
      this.isRestoring = false;
    }
    this.hurry();
    const loadable = Promise.all(this.buckets.map((bucket) => bucket.whenLoadable()));
    await withTimeout(loadable, LIFETIMES.restoreWaitMs, this.machine);
    return { kind: "restored" };
  }

  refused(entries: readonly StoredEntry[]): void {
    this.commits.refused(entries);
    this.hurry();
  }

  /** A ledger that went back has other epochs. A gateway that starts on it would end those of gateways on the right one. */
  private step(membership: Membership): Promise<number> {
    const isOut = !this.watch.isHome && membership.bucket.epoch === "" && !this.isRestoring;
    if (isOut) return Promise.resolve(LIFETIMES.ledgerCheckMs);
    return membership.step(this.machine.monotonic());
  }

  /** A failure in one bucket mostly means all: they look now, not at their next heartbeat. */
  private hurry(): void {
    for (const task of this.rounds) task.hurry();
  }

  /** Returns why no hold can be taken in addition to `holds` others. Its post must find room later. */
  private refusal(holds: number): string | undefined {
    return this.watch.refusal ?? this.noRoom(holds);
  }

  /** Returns why the posts of that many calls and one more cannot be kept; undefined if they can. */
  private noRoom(holds: number): string | undefined {
    const uncommitted = this.commits.size;
    const { outboxEntriesMax } = this.options;
    if (uncommitted >= outboxEntriesMax) {
      return `${uncommitted} posted calls are not in the ledger yet (limit ${outboxEntriesMax})`;
    }
    return this.posts.refusal(holds + 1);
  }

  private membershipEvents(): MembershipEvents {
    return {
      failed: (bucket, error, wasReady) => {
        if (bucket.state === "away" && !this.stopped) this.outageLog.failed(bucket.name, error);
        if (wasReady) this.hurry();
      },
      ledgerFailed: (error) => this.outageLog.ledgerFailed(error),
      moved: () => this.outageLog.moved(),
      endsTooMany: ({ process }, reason) => this.outageLog.endsTooMany(process, reason),
      // Another gateway that enters the new epoch must find the counts there.
      beginning: () => this.watch.keepAgain(),
      mayClaim: () => this.watch.isHome,
      mustResend: (bucket) => this.posts.resendUncommitted(bucket),
      entered: async (bucket) => {
        await this.watch.keepAgain().catch(() => {});
        await this.revocations.applyAll(bucket);
      },
      expelled: (bucket) => {
        this.outageLog.expelled();
        this.posts.resendUncommitted(bucket);
        this.holds.expireAll(bucket);
      },
      reaped: (_, process, voidedHolds) => this.outageLog.reaped(process, voidedHolds),
      maintained: (membership) => this.maintained(membership),
    };
  }

  private maintained(membership: Membership): void {
    const { bucket, claimed } = membership;
    this.outageLog.recovered(bucket.name);
    if (claimed.size > 0) this.commits.wake();
    this.revocations.applyMissed(bucket).catch(() => {});
    if (!bucket.isReady) return;
    if (bucket.isFull) void bucket.tryRoom().then(() => bucket.isFull && this.outageLog.full());
    this.commits.acknowledgeRest(bucket).catch(() => {});
    void this.posts.resendAll(bucket);
    void this.holds.round(membership);
    void this.idle.round(bucket);
  }
}
