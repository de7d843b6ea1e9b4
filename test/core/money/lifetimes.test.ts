import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { KEY_KEPT_MS, LIFETIMES as of } from "../../../core/money/lifetimes.ts";
import { packageRoot } from "../../../core/process/root.ts";

/** Each required relation, with the fault that it prevents. */
const RELATIONS: readonly (readonly [string, boolean])[] = [
  [
    "heartbeatMs > replyTimeoutMs; otherwise a round is not over when the next is due",
    of.heartbeatMs > of.replyTimeoutMs,
  ],
  [
    "leaseMs / 2 > clusterHeartbeatMs + replyTimeoutMs; otherwise a gateway that dies is not seen to be silent",
    of.leaseMs / 2 > of.clusterHeartbeatMs + of.replyTimeoutMs,
  ],
  [
    "epochTakenMs > 2 * replyTimeoutMs; otherwise two gateways begin epochs in turn",
    of.epochTakenMs > 2 * of.replyTimeoutMs,
  ],
  [
    "roundRetryMsMax <= heartbeatMs; otherwise recovery from an outage takes longer than a normal round",
    of.roundRetryMsMax <= of.heartbeatMs,
  ],
  [
    "startTimeoutMs > leaseMs + epochTakenMs; otherwise a start fails while it waits for the leases of dead processes",
    of.startTimeoutMs > of.leaseMs + of.epochTakenMs,
  ],
  [
    "catchUpMs > leaseMs + epochTakenMs; otherwise a start fails while Redis is being joined",
    of.catchUpMs > of.leaseMs + of.epochTakenMs,
  ],
  [
    "leaveTimeoutMs > replyTimeoutMs; otherwise a process stops before Redis replies, and its holds stay until its lease ends",
    of.leaveTimeoutMs > of.replyTimeoutMs,
  ],
  [
    "2 * replyTimeoutMs < 1 s; otherwise a call is not refused within a second: the rate limiter asks Redis, then the hold",
    2 * of.replyTimeoutMs < 1_000,
  ],
  [
    "joinWaitMs < loadTimeoutMs <= 5 s; otherwise a first call is refused without the reason, or after its client gave up",
    of.joinWaitMs < of.loadTimeoutMs && of.loadTimeoutMs <= 5_000,
  ],
  // Another process may commit a post once the ledger has said no. A process may stall then: Redis refuses its post once a lease has passed.
  [
    "committedCallKeptMs > leaseMs + replyTimeoutMs; otherwise a resent post charges the wallet twice",
    of.committedCallKeptMs > of.leaseMs + of.replyTimeoutMs,
  ],
  [
    "revokedKeptMs > KEY_KEPT_MS; otherwise a process that still has a revoked key sells calls to it",
    of.revokedKeptMs > KEY_KEPT_MS,
  ],
  [
    "walletIdleMs > idleLookMs; otherwise a wallet is closed by the second look, however soon it comes",
    of.walletIdleMs > of.idleLookMs,
  ],
  [
    "closePauseMs > loadTimeoutMs; otherwise a load from a slow ledger is in vain again and again",
    of.closePauseMs > of.loadTimeoutMs,
  ],
  [
    "paceWaitMsMax > paceDelayMsMax > paceTickMs; otherwise calls are refused instead of delayed",
    of.paceWaitMsMax > of.paceDelayMsMax && of.paceDelayMsMax > of.paceTickMs,
  ],
  [
    "commitRetryMsMin <= commitRetryMsMax; otherwise retries do not slow down",
    of.commitRetryMsMin <= of.commitRetryMsMax,
  ],
  // A movement that waits for its wallet is not seen as running yet, and its row's id may be as much later than its time.
  [
    "missedBackMs > 2 * statementTimeoutMs; otherwise a look passes over a movement whose statement was slow",
    of.missedBackMs > 2 * of.statementTimeoutMs,
  ],
  [
    "balancesSilentMs > 3 * balancesBeatMs; otherwise a slow reply makes a live owner look dead",
    of.balancesSilentMs > 3 * of.balancesBeatMs,
  ],
  [
    "ledgerCheckMs < leaseMs; otherwise calls are sold for longer than a lease after the ledger went back",
    of.ledgerCheckMs < of.leaseMs,
  ],
  [
    "writerKeptMs > 2 * writersForgottenMs; otherwise the writers of a living process are forgotten",
    of.writerKeptMs > 2 * of.writersForgottenMs,
  ],
  [
    "hiddenTransactionMs > 2 * statementTimeoutMs; otherwise a look passes over a movement of a gateway with another role",
    of.hiddenTransactionMs > 2 * of.statementTimeoutMs,
  ],
  [
    "unsyncedMsMax > 2 * journalSyncMs; otherwise calls are refused though the disk is not slow",
    of.unsyncedMsMax > 2 * of.journalSyncMs,
  ],
  [
    "journalLockWaitMs > leaveTimeoutMs; otherwise a restart fails while the earlier process stops",
    of.journalLockWaitMs > of.leaveTimeoutMs,
  ],
];

t.test("the lifetimes of money", async (t) => {
  for (const [relation, holds] of RELATIONS) t.ok(holds, relation);

  t.test("are in one file: no other file of money contains a number of milliseconds", async (t) => {
    const folder = join(packageRoot, "core/money");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const found = files.filter((file) => {
      // The ledger has no lifetimes: its numbers limit stored times.
      if (!/\.(?:ts|lua)$/.test(file) || file.startsWith("ledger/")) return false;
      if (file === "lifetimes.ts") return false;
      const text = readFileSync(join(folder, file), "utf8");
      return /_MS(?:_[A-Z_]+)? = ["\d]|Ms: [1-9]|'PX', \d|EXPIRE', [^,]+, \d/.test(text);
    });
    t.strictSame(found, []);
  });
});
