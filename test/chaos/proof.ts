import type { Books, LedgerRow, UsageRow, WalletRow } from "./books.ts";
import type { Evidence, Report, Violation } from "./evidence.ts";
import { checkCalls } from "./proof-of-calls.ts";

/** Totals of the ledger, for the report. */
export interface Totals {
  chargedCalls: number;
  chargedMicroVnd: bigint;
  writtenOffMicroVnd: bigint;
  writtenOffCalls: number;
  chargedCutCalls: number;
  ledgerRows: number;
  /** Whole replies in no record, by the double failure that lost them. */
  lostCalls: Map<string, number>;
}

/**
 * Compares the observations of clients and operators with the ledger and Redis, without any code of
 * the gateway.
 */
export function prove(
  evidence: Evidence,
  { usage, ledger, wallets, quarantined }: Books,
): { violations: Violation[]; totals: Totals } {
  const violations: Violation[] = [];
  const report: Report = (rule, what, callId) => violations.push({ rule, what, callId });

  const lostCalls = checkCalls(evidence, usage, report);
  checkLedger(evidence, usage, ledger, wallets, report);
  checkMovements(evidence, ledger, report);
  checkHoldStore(evidence, wallets, report);
  if (quarantined !== 0n) report("nothing is in quarantine", `${quarantined} calls are`);

  const charges = usage.filter((row) => row.charged > 0n);
  const wholeIds = new Set(evidence.calls.flatMap((call) => (call.end === "whole" ? call.id : [])));
  const totals: Totals = {
    chargedCalls: charges.length,
    chargedMicroVnd: charges.reduce((sum, row) => sum + row.charged, 0n),
    writtenOffMicroVnd: usage.reduce((sum, row) => sum + row.written_off, 0n),
    writtenOffCalls: usage.filter((row) => row.written_off > 0n).length,
    chargedCutCalls: charges.filter((row) => !wholeIds.has(row.call_id)).length,
    ledgerRows: ledger.length,
    lostCalls,
  };
  return { violations, totals };
}

function checkLedger(
  { startMicroVnd }: Evidence,
  usage: readonly UsageRow[],
  ledger: readonly LedgerRow[],
  wallets: readonly WalletRow[],
  report: Report,
): void {
  const balances = new Map<string, bigint>();
  const charges = new Map<string, bigint>();
  for (const row of ledger) {
    const after = (balances.get(row.account_id) ?? 0n) + row.amount;
    balances.set(row.account_id, after);
    if (row.balance_after !== after) {
      report("balances add up", `${row.balance_after} after it, not ${after}`, row.call_id ?? "");
    }
    if (row.balance_after < 0n) report("no wallet is below zero", `${row.balance_after} µđ`);
    if (row.call_id === null) continue;
    if (charges.has(row.call_id)) report("each call is charged once", "twice", row.call_id);
    charges.set(row.call_id, -row.amount);
  }
  for (const { call_id, charged } of usage) {
    const entry = charges.get(call_id) ?? 0n;
    if (entry !== charged) report("record and ledger agree", `${charged} and ${entry}`, call_id);
    charges.delete(call_id);
  }
  for (const callId of charges.keys()) report("each charge has its record", "it has none", callId);
  for (const { account_id, balance } of wallets) {
    const sum = balances.get(account_id) ?? 0n;
    if (sum !== balance) report("sum and balance agree", `${account_id}: ${sum} and ${balance}`);
    if (!startMicroVnd.has(account_id)) report("every wallet is known", account_id);
  }
}

function checkMovements(
  { movements, startMicroVnd }: Evidence,
  ledger: readonly LedgerRow[],
  report: Report,
): void {
  const byReference = new Map(movements.map((movement) => [movement.reference, movement]));
  const seen = new Set<string>();
  let starts = 0;
  for (const { reference, account_id, amount } of ledger) {
    if (reference === null) continue;
    const movement = byReference.get(reference);
    if (!movement) {
      // The initial credit of a wallet.
      if (startMicroVnd.get(account_id) !== amount) report("every movement is known", reference);
      starts += 1;
      continue;
    }
    if (seen.has(reference)) report("a movement counts once", reference);
    seen.add(reference);
    if (account_id !== movement.accountId || amount !== movement.amountMicroVnd) {
      report("a movement has the amount that was sent", reference);
    }
    if (movement.answer === "below_zero" && movement.attempts === 1) {
      report("a refused movement changes nothing", reference);
    }
  }
  if (starts !== startMicroVnd.size)
    report("every wallet is credited once at the start", `${starts} did`);
  for (const { reference, answer } of movements) {
    if (answer === undefined) report("every movement is answered", reference);
    if (answer === "credited" && !seen.has(reference)) report("a movement counts", reference);
  }
}

function checkHoldStore(
  { redisState, belowZero }: Evidence,
  wallets: readonly WalletRow[],
  report: Report,
): void {
  for (const part of belowZero) report("no wallet is below zero in redis", part);
  if (!redisState) return report("redis can be read", "it is not whole");
  for (const [call, hold] of redisState.holds) report("no hold is left", `${call} ${hold}`, call);
  if (redisState.outboxEntries > 0)
    report("the outbox is empty", `${redisState.outboxEntries} entries wait`);
  for (const { account_id, balance } of wallets) {
    const wallet = redisState.wallets.get(account_id);
    if (!wallet) continue;
    const { available, held, uncommitted } = wallet;
    if (available + held + uncommitted !== balance) {
      const parts = `available ${available} + held ${held} + uncommitted ${uncommitted}`;
      report("redis and ledger agree", `${account_id}: ${parts}, and ${balance}`);
    }
  }
}
