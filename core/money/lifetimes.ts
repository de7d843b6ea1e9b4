/**
 * Every lease, grace, timeout and retention of money, in milliseconds. Many depend on each other: `RELATIONS` says how,
 * and is checked at import. Scripts in Lua get these numbers as arguments.
 */
export const LIFETIMES = {
  // Membership: this process in a bucket of Redis.

  /** Between two signs of life of a process in a bucket. */
  heartbeatMs: 1_000,
  /** A process that shows no sign of life for this long has lost its holds and its outbox to the others. */
  leaseMs: 10_000,
  /** Age of an epoch at which a process that has just started allows loads: the others must notice the epoch first. */
  graceMs: 1_500,
  /** The same for a process that was a member of the epoch before, and so knows for whom to wait. */
  witnessGraceMs: 300,
  /** Between two rounds of a process that joins a bucket. */
  joiningRoundMs: 20,
  /** After the first round that Redis did not answer; doubles up to `roundRetryMsMax`. */
  roundRetryMsMin: 50,
  roundRetryMsMax: 250,
  /** An operation waits this long for a bucket that is being joined. */
  joinWaitMs: 900,
  /** A start fails if Redis does not answer for this long. */
  startTimeoutMs: 30_000,
  /** A stop waits this long for Redis to hear that the process leaves. */
  leaveTimeoutMs: 1_000,
  /** An outage logs the same line once in this time: short, so that the last line says how it ended. */
  outageLogMs: 1_000,
  /** Between two comparisons of what Redis holds for this process with the calls that it runs. */
  auditMs: 10_000,

  // Posts: a call that is charged once, however often its post is sent.

  /** A connection to Redis that owes replies and is silent for this long is closed. */
  replyTimeoutMs: 450,
  /** A post without a reply is sent again for this long without a look into the ledger. */
  askLedgerAfterMs: 60_000,
  /** Redis remembers a call for this long after its commit was acknowledged. */
  committedCallKeptMs: 120_000,
  /** Redis remembers a call for this long after its post, if it is not committed. */
  postedCallKeptMs: 86_400_000,

  // Commits: from the outbox to the ledger.

  /** The committer waits this long for a posted call before it looks again. */
  readWaitMs: 250,
  /** After a read that found nothing, whether or not the store has waited. */
  emptyReadPauseMs: 1,
  /** A batch that is not full waits this long for more: an acknowledgement is one command for each bucket in it. */
  gatherMs: 50,
  /** After a small batch the committer pauses this long for each call in it, and for `lingerMs` of its options at most. */
  lingerMsPerCall: 25,
  /** After the first batch that failed; doubles up to `commitRetryMsMax`. */
  commitRetryMsMin: 50,
  commitRetryMsMax: 2_000,
  /** A committer that stops pauses no longer than this: it has little time. */
  stoppingPauseMsMax: 50,

  // Wallets: loads and movements.

  /** A first call waits this long for its wallet to be loaded. */
  loadTimeoutMs: 1_000,
  /** A movement that the hold store could not be given is applied again after this long. */
  applyRetryMs: 1_000,
  /** A start tries this often, and pauses this long, to apply movements that an earlier process has left. */
  catchUpRetryMs: 500,
  catchUpMs: 30_000,
  /** Reconcile reads a wallet that seems off again after this pause. */
  reconcilePauseMs: 25,

  // Journal and spool: posted calls on the disk.

  /** What the journal has written is on the disk after this long, at the latest. */
  journalSyncMs: 1_000,
  /** A start waits this long for another process to give up the journal. */
  journalLockWaitMs: 5_000,
} as const;

export type Lifetimes = { readonly [Name in keyof typeof LIFETIMES]: number };

/** Each relation that something relies on, with what breaks without it. */
const RELATIONS: readonly (readonly [string, (lifetimes: Lifetimes) => boolean])[] = [
  [
    "heartbeatMs > replyTimeoutMs, or a round is not over when the next is due",
    (of) => of.heartbeatMs > of.replyTimeoutMs,
  ],
  [
    "leaseMs / 2 > heartbeatMs + replyTimeoutMs, or a process that lives is neither fresh nor heard between heartbeats",
    (of) => of.leaseMs / 2 > of.heartbeatMs + of.replyTimeoutMs,
  ],
  [
    "graceMs > heartbeatMs + replyTimeoutMs, or wallets are loaded before the others know of the epoch",
    (of) => of.graceMs > of.heartbeatMs + of.replyTimeoutMs,
  ],
  [
    "witnessGraceMs > roundRetryMsMax + joiningRoundMs, or a process that retries cannot show up in the epoch",
    (of) => of.witnessGraceMs > of.roundRetryMsMax + of.joiningRoundMs,
  ],
  [
    "witnessGraceMs <= graceMs, or who knows more waits longer",
    (of) => of.witnessGraceMs <= of.graceMs,
  ],
  [
    "roundRetryMsMax <= heartbeatMs, or Redis is noticed later after an outage than in normal operation",
    (of) => of.roundRetryMsMax <= of.heartbeatMs,
  ],
  [
    "startTimeoutMs > leaseMs + graceMs, or a start fails that only waits for the leases of dead processes",
    (of) => of.startTimeoutMs > of.leaseMs + of.graceMs,
  ],
  [
    "catchUpMs > leaseMs + graceMs, or a start gives up movements while Redis is being joined",
    (of) => of.catchUpMs > of.leaseMs + of.graceMs,
  ],
  [
    "leaveTimeoutMs > replyTimeoutMs, or a process that stops is not heard and its holds stay for a lease",
    (of) => of.leaveTimeoutMs > of.replyTimeoutMs,
  ],
  [
    "auditMs >= heartbeatMs, which is how often there is a round",
    (of) => of.auditMs >= of.heartbeatMs,
  ],
  [
    "2 * replyTimeoutMs < 1 s, or a call is not refused within a second: the rate limiter asks Redis, then the hold",
    (of) => 2 * of.replyTimeoutMs < 1_000,
  ],
  [
    "joinWaitMs < loadTimeoutMs <= 1 s, or a first call is not refused within a second, with the reason",
    (of) => of.joinWaitMs < of.loadTimeoutMs && of.loadTimeoutMs <= 1_000,
  ],
  // A process that stalls between its look at the clock and the post is refused by Redis after a lease.
  [
    "committedCallKeptMs > askLedgerAfterMs + leaseMs + replyTimeoutMs, or a post that is sent again is charged to the wallet twice",
    (of) => of.committedCallKeptMs > of.askLedgerAfterMs + of.leaseMs + of.replyTimeoutMs,
  ],
  [
    "postedCallKeptMs > committedCallKeptMs, or a call is forgotten before its commit",
    (of) => of.postedCallKeptMs > of.committedCallKeptMs,
  ],
  [
    "readWaitMs > gatherMs, or the committer never gathers a batch",
    (of) => of.readWaitMs > of.gatherMs,
  ],
  [
    "commitRetryMsMin <= commitRetryMsMax, or retries do not slow down",
    (of) => of.commitRetryMsMin <= of.commitRetryMsMax,
  ],
  [
    "journalLockWaitMs > leaveTimeoutMs, or a restart fails while the process before it leaves",
    (of) => of.journalLockWaitMs > of.leaveTimeoutMs,
  ],
];

/** Throws RangeError with every relation that does not hold. */
export function requireLifetimes(lifetimes: Lifetimes): void {
  const broken = RELATIONS.filter(([, holds]) => !holds(lifetimes)).map(([relation]) => relation);
  if (broken.length > 0) throw new RangeError(`lifetimes of money: ${broken.join("; ")}`);
}

requireLifetimes(LIFETIMES);
