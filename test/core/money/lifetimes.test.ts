import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { LIFETIMES, type Lifetimes, requireLifetimes } from "../../../core/money/lifetimes.ts";
import { packageRoot } from "../../../core/process/root.ts";

/** A change that breaks each relation alone. */
const BROKEN: Record<string, Partial<Lifetimes>> = {
  "heartbeatMs > replyTimeoutMs": { heartbeatMs: 400 },
  "leaseMs / 2 > clusterHeartbeatMs + replyTimeoutMs": { clusterHeartbeatMs: 4_550 },
  "epochTakenMs > 2 * replyTimeoutMs": { epochTakenMs: 900 },
  "roundRetryMsMax <= heartbeatMs": { roundRetryMsMax: 1_001 },
  "startTimeoutMs > leaseMs + epochTakenMs": { startTimeoutMs: 11_000 },
  "catchUpMs > leaseMs + epochTakenMs": { catchUpMs: 11_000 },
  "leaveTimeoutMs > replyTimeoutMs": { leaveTimeoutMs: 450 },
  "auditMs >= heartbeatMs": { auditMs: 999 },
  "2 * replyTimeoutMs < 1 s": { replyTimeoutMs: 500, epochTakenMs: 1_001 },
  "joinWaitMs < loadTimeoutMs <= 5 s": { joinWaitMs: 5_000 },
  "committedCallKeptMs > askLedgerAfterMs + leaseMs + replyTimeoutMs": {
    committedCallKeptMs: 70_450,
  },
  "revokedKeptMs > KEY_KEPT_MS": { revokedKeptMs: 3_600_000 },
  "walletIdleMs > idleLookMs": { walletIdleMs: 3_600_000 },
  "closePauseMs > loadTimeoutMs": { closePauseMs: 5_000 },
  "readWaitMs > gatherMs": { readWaitMs: 50 },
  "paceWaitMsMax > paceDelayMsMax > paceTickMs": { paceWaitMsMax: 5_000 },
  "commitRetryMsMin <= commitRetryMsMax": { commitRetryMsMin: 2_001 },
  "missedBackMs > 2 * statementTimeoutMs": { missedBackMs: 60_000 },
  "balancesSilentMs > 3 * balancesBeatMs": { balancesSilentMs: 6_000 },
  "ledgerCheckMs < leaseMs": { ledgerCheckMs: 10_000 },
  "writerKeptMs > 2 * writersForgottenMs": { writerKeptMs: 7_200_000 },
  "hiddenTransactionMs > 2 * statementTimeoutMs": { hiddenTransactionMs: 60_000 },
  "unsyncedMsMax > 2 * journalSyncMs": { unsyncedMsMax: 2_000 },
  "journalLockWaitMs > leaveTimeoutMs": { journalLockWaitMs: 1_000 },
};

/** Changes of the other part of a relation of three times. */
const BROKEN_ELSEWHERE: typeof BROKEN = {
  "joinWaitMs < loadTimeoutMs <= 5 s": { loadTimeoutMs: 5_001 },
  "paceWaitMsMax > paceDelayMsMax > paceTickMs": { paceTickMs: 5_000 },
};

/** Changes up to which a relation still holds. */
const AT_THE_LIMIT: readonly Partial<Lifetimes>[] = [
  { roundRetryMsMax: 1_000 },
  { auditMs: 1_000 },
  { loadTimeoutMs: 5_000 },
  { commitRetryMsMin: 2_000 },
];

function brokenBy(change: Partial<Lifetimes>): string[] {
  try {
    requireLifetimes({ ...LIFETIMES, ...change });
    return [];
  } catch (error) {
    assert.ok(error instanceof RangeError);
    return error.message.replace("lifetimes of money do not fit together: ", "").split("\n");
  }
}

t.test("the lifetimes of money", async (t) => {
  const all = [BROKEN, BROKEN_ELSEWHERE].flatMap((each) => Object.entries(each));
  for (const [relation, change] of all) {
    t.test(`are refused unless ${relation}`, async (t) => {
      const broken = brokenBy(change);
      t.equal(broken.length, 1, broken.join("\n"));
      t.ok(broken[0]?.startsWith(relation), broken[0] ?? "");
    });
  }

  t.test("are taken up to their limits", async (t) => {
    for (const change of AT_THE_LIMIT) t.strictSame(brokenBy(change), [], JSON.stringify(change));
  });

  t.test("have a broken case for each relation", async (t) => {
    const nonsense = Object.fromEntries(Object.keys(LIFETIMES).map((name) => [name, Number.NaN]));
    t.equal(brokenBy(nonsense).length, Object.keys(BROKEN).length);
  });

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
