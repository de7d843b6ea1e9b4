import { failpoint } from "../../process/failpoint.ts";
import { systemMachine } from "../../process/machine.ts";
import { PeriodicTask } from "../../process/periodic.ts";
import { withTimeout } from "../../process/timeout.ts";
import { bucketsOf } from "../../redis/buckets.ts";
import type { HoldStore, RestoreResult } from "../hold-store.ts";
import { LedgerWatch } from "../ledger-watch.ts";
import { LIFETIMES } from "../lifetimes.ts";
import type { Bucket } from "./bucket.ts";
import { BucketMap } from "./bucket-map.ts";
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
export function createRedisHoldStore(options: RedisHoldStoreOptions) {
  const { client, prefix, log, ledger, outboxEntriesMax, machine = systemMachine } = options;
  const { heartbeatMs, clusterHeartbeatMs } = LIFETIMES;
  const beat = { heartbeatMs: client.isCluster ? clusterHeartbeatMs : heartbeatMs };
  const times = { ...LIFETIMES, ...beat, ...options.times };
  const spool = { machine, ...options.spool };
  const outageLog = new OutageLog(log, () => machine.monotonic());
  const { epochs } = ledger;
  const process = machine.uuid();
  const shared = { process, client, times, machine, epochs, outageLog, events: events() };
  const memberships = new Map<Bucket, Membership>();
  for (let index = 0; index < (options.buckets ?? bucketsOf(client)); index += 1) {
    const membership = new Membership(new BucketKeys(prefix, index), shared);
    memberships.set(membership.bucket, membership);
  }
  const all = [...memberships.keys()];
  const rounds = Array.from(
    memberships.values(),
    (each) => new PeriodicTask(() => step(each), machine),
  );
  const kept = new RedisKeptProgress(client, all);
  const watch = new LedgerWatch({ history: ledger.history, kept, machine, log });
  const buckets = new BucketMap(all);
  const revocations = new Revocations(client, buckets, machine);
  const commits = new Commits({ client, buckets: all, memberships, machine, log, watch });
  const wallets = new RedisWallets(client, buckets);
  const holds = new Holds({ buckets, wallets, ledger, refusal });
  const posts = new Posts({ buckets, wallets, holds, commits, spool, ledger, log });
  const idle = new IdleWallets({ memberships, wallets, times, machine });
  let stopped = false;
  let isRestoring = false;

  async function start(): Promise<void> {
    await posts.start();
    client.connect(hurry);
    try {
      await watch.start(times.startTimeoutMs);
      for (const task of rounds) task.start();
      if (watch.isHome) await whenServing(all, times.startTimeoutMs, machine, log);
    } catch (error) {
      await stop();
      throw error;
    }
  }

  async function stop(): Promise<void> {
    stopped = true;
    await watch.stop();
    commits.stop();
    // Each bucket as soon as its own round ends: one that waits for the ledger leaves the others without a heartbeat.
    const left = Array.from(memberships.values(), async (each, index) => {
      await rounds[index]?.stop();
      await withTimeout(
        each.leave().catch(() => {}),
        LIFETIMES.leaveTimeoutMs,
        machine,
      );
    });
    await Promise.all(left);
    client.disconnect();
    await posts.stop();
  }

  /**
   * Drops every wallet, and then accepts that the ledger lost commits: the page on money says why in this order. Rejects
   * if a bucket cannot be reached; it is safe to repeat. Resolves once wallets load here again, so that the operator's next
   * command finds them: a new epoch opens in milliseconds, or after the lease of a gateway that is dead.
   */
  async function restoreFromLedger(): Promise<RestoreResult> {
    isRestoring = true;
    try {
      hurry();
      await Promise.all(Array.from(memberships.values(), (each) => each.endNow()));
      failpoint("restore.epochs");
      await watch.restored();
      failpoint("restore.accepted");
    } finally {
      isRestoring = false;
    }
    hurry();
    await Promise.allSettled(all.map((bucket) => bucket.whenLoadable(LIFETIMES.restoreWaitMs)));
    return { kind: "restored" };
  }

  /** A ledger that went back has other epochs. A gateway that starts on it would end those of gateways on the right one. */
  function step(membership: Membership): Promise<number> {
    const isOut = !watch.isHome && membership.bucket.epoch === "" && !isRestoring;
    if (isOut) return Promise.resolve(LIFETIMES.ledgerCheckMs);
    return membership.step(machine.monotonic());
  }

  /** A failure in one bucket mostly means all: they look now, not at their next heartbeat. */
  function hurry(): void {
    for (const task of rounds) task.hurry();
  }

  /** Returns why no hold can be taken in addition to `running` others. Its post must find room later. */
  function refusal(running: number): string | undefined {
    return watch.refusal ?? noRoom(running);
  }

  /** Returns why the posts of that many calls and one more cannot be kept; undefined if they can. */
  function noRoom(running: number): string | undefined {
    if (commits.size >= outboxEntriesMax) {
      return `${commits.size} posted calls are not in the ledger yet (limit ${outboxEntriesMax})`;
    }
    return posts.refusal(running + 1);
  }

  function events(): MembershipEvents {
    return {
      failed: (bucket, error, wasReady) => {
        if (bucket.state === "away" && !stopped) outageLog.failed(bucket.name, error);
        if (wasReady) hurry();
      },
      // Another gateway that enters the new epoch must find the counts there.
      beginning: () => watch.keepAgain(),
      mayClaim: () => watch.isHome,
      mustResend: (bucket) => posts.resendUncommitted(bucket),
      entered: async (bucket) => {
        await watch.keepAgain().catch(() => {});
        await revocations.applyAll(bucket);
      },
      expelled: (bucket) => {
        outageLog.expelled();
        posts.resendUncommitted(bucket);
        holds.expireAll(bucket);
      },
      maintained,
    };
  }

  function maintained(membership: Membership): void {
    const { bucket, claimed } = membership;
    outageLog.recovered(bucket.name);
    if (claimed.size > 0) commits.wake();
    revocations.applyMissed(bucket).catch(() => {});
    if (!bucket.isReady) return;
    if (bucket.isFull) outageLog.full();
    commits.acknowledgeRest(bucket).catch(() => {});
    void posts.resendAll(bucket);
    void holds.round(bucket);
    void idle.round(bucket);
  }

  return {
    start,
    stop,
    hold: (request) => holds.hold(request),
    extend: (request) => holds.extend(request),
    post: (posting) => posts.post(posting),
    postAll: (postings) => posts.postAll(postings),
    debit: (entry) => posts.debit(entry),
    void: (callId, accountId) =>
      posts.voidUnheard(callId, accountId) ?? holds.void(callId, accountId),
    load: (...wallet) => wallets.load(...wallet),
    forget: (accountId, purse) => wallets.forget(accountId, purse, machine.now()),
    credit: (movement) => wallets.credit(movement, watch.keep()),
    balances: (...wallet) => wallets.balances(...wallet),
    loadedVersions: () => wallets.versions(),
    revoke: (keyId, accountId) => revocations.revoke(keyId, accountId),
    restore: (keyId, accountId) => revocations.restore(keyId, accountId),
    read: (max, waitMs) => commits.read(max, waitMs),
    acknowledge: (entries) => commits.acknowledge(entries),
    uncommittedCalls: () => commits.size + posts.unconfirmed,
    unsent: () => posts.unsent(),
    unsyncedMs: () => posts.unsyncedMs,
    findUncommitted: (callId) => commits.find(callId),
    standing: () => standingCalls(client, all),
    health: () => healthOfStore(all, watch, noRoom(0)),
    ledgerWentBack: () => watch.wentBack,
    restoreFromLedger,
    refused: (entries) => {
      commits.refused(entries);
      hurry();
    },
  } satisfies HoldStore;
}

export type RedisHoldStore = ReturnType<typeof createRedisHoldStore>;
