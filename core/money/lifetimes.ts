/** How long a process uses a cached key at most while it cannot read the key again. */
export const KEY_KEPT_MS = 3_600_000;

/**
 * Every lease, grace, timeout and retention of money, in milliseconds. How they depend on each other is in
 * `test/core/money/lifetimes.test.ts`. Lua scripts get these numbers as arguments.
 */
export const LIFETIMES = {
  // Membership: this gateway in a bucket of Redis.

  /** Time between two looks of a gateway at a bucket, each of which is a heartbeat. */
  heartbeatMs: 1_000,
  /** The same in a cluster, which has 16 buckets. */
  clusterHeartbeatMs: 3_000,
  /** A gateway without a heartbeat for this long loses its leases: others void its holds and claim its outbox. */
  leaseMs: 10_000,
  /** Time between two looks of a gateway that joins a bucket. */
  joiningRoundMs: 20,
  /** Backoff after a round that Redis or the ledger did not reply to; doubles up to `roundRetryMsMax`. */
  roundRetryMsMin: 50,
  roundRetryMsMax: 250,
  /** A gateway waits this long for the ledger before its next look. */
  epochsReplyMs: 2_500,
  /** A gateway that took the name of the next epoch begins it within this time, or has died. */
  epochTakenMs: 1_000,
  /** For each member, a gateway waits this much longer until it asks the ledger again if an epoch may open. */
  openMsEach: 5,
  /** A gateway ends at most `epochsEndedMax` epochs of a bucket within this time. */
  epochsEndedWithinMs: 60_000,
  epochsEndedMax: 30,
  /** An operation waits this long for a bucket that is being joined. */
  joinWaitMs: 900,
  /** A start fails if Redis does not reply for this long. */
  startTimeoutMs: 30_000,
  /** A stop waits this long for Redis to confirm that the process leaves. */
  leaveTimeoutMs: 1_000,
  /** The same line about an outage is logged once in this time. Short, so that the last line shows how it ended. */
  outageLogMs: 1_000,
  /** A connection to Redis that is not made yet at a start is no outage before this time. */
  connectingMs: 2_000,

  // Posts: a call is charged once, even if its post is sent several times.

  /** A connection to Redis that owes replies and is silent for this long is closed. */
  replyTimeoutMs: 450,
  /** Redis remembers a call until its commit was acknowledged, and for this long after. */
  committedCallKeptMs: 120_000,

  /** Holds with a revoked key are refused this long. Twice the age of a cached key: a call may wait before its hold. */
  revokedKeptMs: 2 * KEY_KEPT_MS,

  // Commits: from the outbox to the ledger.

  /** The committer waits this long for a posted call before it reads again. */
  readWaitMs: 250,
  /** Pause after a read that found nothing, whether or not the store waited. */
  emptyReadPauseMs: 1,
  /**
   * After a small batch the committer pauses this long per call in it, up to `lingerMs` of its options: a batch costs a
   * transaction, and with Redis an acknowledgement for each bucket in it.
   */
  lingerMsPerCall: 50,
  /** Backoff after a failed batch; doubles up to `commitRetryMsMax`. */
  commitRetryMsMin: 50,
  commitRetryMsMax: 2_000,
  /** Maximum pause of a committer that stops: it has little time. */
  stoppingPauseMsMax: 50,

  // Pace: new calls slow down to the rate of the commits.

  /** The wait of a new call when the outbox is almost full. */
  paceDelayMsMax: 5_000,
  /** A new call that has waited this long is refused. Only accounts with very many calls at once reach it. */
  paceWaitMsMax: 10_000,
  /** Waiting calls go on this often, many at once: calls that run their steps together cost less. */
  paceTickMs: 10,
  /** Delays of new calls that are shorter than this are not logged. */
  paceLoggedMsMin: 100,
  /** Time between two comparisons of the ledger with the commits that it had confirmed. */
  ledgerCheckMs: 2_000,
  /** The ledger forgets how often a writer committed this long after its last commit. */
  writerKeptMs: 90 * 86_400_000,
  /** Time between two deletions of such writers. */
  writersForgottenMs: 3_600_000,
  /** A restore waits this long: before it for running calls if balances are in memory, after it for wallets that load. */
  restoreWaitMs: 30_000,
  restorePollMs: 50,

  // Wallets: loads and movements.

  /** The first call of an account waits this long for its wallet to be loaded: a slow ledger is not one that is down. */
  loadTimeoutMs: 5_000,
  /** A wallet without a call for this long is closed; its next call loads it again. */
  walletIdleMs: 24 * 3_600_000,
  /** Time between two looks at all wallets for those to close. */
  idleLookMs: 3_600_000,
  /** Time between two steps of a look at wallets in memory. */
  idleStepMs: 100,
  /** Pause after a step that closed some: a wallet that is being loaded is read again after each. */
  closePauseMs: 6_000,
  /** Delay before a movement that could not be applied to the hold store is retried. */
  applyRetryMs: 1_000,
  /** A debit waits this long for its commit, and asks the ledger this often. */
  debitWaitMs: 5_000,
  debitPollMs: 50,
  /** The ledger ends a statement that takes longer. Its commit may take longer still: it waits for a synchronous replica. */
  statementTimeoutMs: 30_000,
  /** Delay between a start's attempts to apply movements that an earlier process left unapplied. */
  catchUpRetryMs: 500,
  /** A start fails if these attempts do not succeed within this time. */
  catchUpMs: 30_000,
  /** Time between two looks for movements that no process applied. */
  missedLookMs: 30_000,
  /** A look goes back this long before the time through which the last one found the ledger complete. */
  missedBackMs: 120_000,
  /** A transaction whose begin Postgres hides counts as this old: no movement takes longer. */
  hiddenTransactionMs: 600_000,
  /** Reconcile checks a wallet with drift again after this pause. */
  reconcilePauseMs: 25,
  /** How long a proof of the ledger waits for transactions that may still write a row, and how often it looks. */
  proofWaitMs: 5_000,
  proofPollMs: 20,

  /** Time between two writes of the counts of refused calls. */
  refusedWriteMs: 1_000,
  /** A stop waits this long for the last write of these counts. */
  refusedStopMs: 2_000,

  // The lock on balances in a shared ledger: see `ledger/balances-lock.ts`.

  /** Time between two heartbeats of the gateway that has the lock. */
  balancesBeatMs: 2_000,
  /** A gateway with the lock, on another host, is dead after this long without a heartbeat. */
  balancesSilentMs: 10_000,

  // Journal and spool: posted calls on the disk.

  /** The journal syncs its writes to the disk within this time. After a failed write, it tries the disk this often. */
  journalSyncMs: 1_000,
  /** New calls are refused while a record of the journal or spool has waited this long for the disk. */
  unsyncedMsMax: 3_000,
  /** A stop waits this long for a last attempt to post the calls that the disk refused. */
  lastPostsMs: 5_000,
  /** A stop then waits this long for the ledger to get the rest. */
  stopCommittingMs: 10_000,
  /** A start waits this long for another process to release the journal. */
  journalLockWaitMs: 5_000,
} as const;

export type Lifetimes = { readonly [Name in keyof typeof LIFETIMES]: number };
