import type postgres from "postgres";
import type { ClientCall } from "./call.ts";
import type { Movement } from "./movements.ts";
import type { RedisState } from "./redis-state.ts";

/** Tokens that may have been sent to a stream's client that left, and that it never read. */
const UNREAD_TOKENS = 128;
/** The gateway's estimate for the longest of these prompts, if the provider reports no usage. */
const INPUT_TOKENS_ESTIMATED_MAX = 60;

/** What clients and operators saw. */
export interface Evidence {
  readonly calls: readonly ClientCall[];
  readonly movements: readonly Movement[];
  /** Accounts whose wallets never run low: each call is charged in full. */
  readonly rich: ReadonlySet<string>;
  readonly startMicroVnd: ReadonlyMap<string, bigint>;
  readonly redisState: RedisState;
  readonly belowZero: ReadonlySet<string>;
}

export interface Violation {
  readonly rule: string;
  readonly what: string;
  readonly callId?: string | undefined;
}

/** Totals of the ledger, for the report. */
export interface Totals {
  chargedCalls: number;
  chargedMicroVnd: bigint;
  writtenOffMicroVnd: bigint;
  writtenOffCalls: number;
  chargedCutCalls: number;
  ledgerRows: number;
}

interface UsageRow {
  call_id: string;
  account_id: string;
  model: string;
  mapped_from: string | null;
  charged: bigint;
  written_off: bigint;
  input_tokens: bigint;
  output_tokens: bigint;
  outcome: string;
  /** The provider reported no usage, as for most streams that are cut. */
  estimated: boolean;
}

interface LedgerRow {
  account_id: string;
  kind: string;
  amount: bigint;
  balance_after: bigint;
  call_id: string | null;
  reference: string | null;
}

/**
 * Compares what clients and operators saw with the ledger and Redis, without any code of the
 * gateway.
 */
export async function prove(
  sql: postgres.Sql,
  evidence: Evidence,
): Promise<{ violations: Violation[]; totals: Totals }> {
  const usage: UsageRow[] = await sql`select * from usage_records`;
  const ledger: LedgerRow[] = await sql`select * from ledger_entries order by id`;
  const wallets: { account_id: string; balance: bigint }[] = await sql`select * from wallets`;
  const [aside] = await sql<{ calls: bigint }[]>`select count(*) as calls from quarantine`;
  const violations: Violation[] = [];
  const report = (rule: string, what: string, callId?: string) =>
    violations.push({ rule, what, callId });

  checkCalls(evidence, usage, report);
  checkLedger(evidence, usage, ledger, wallets, report);
  checkMovements(evidence, ledger, report);
  checkHoldStore(evidence, wallets, report);
  if (aside?.calls !== 0n) report("nothing is in quarantine", `${aside?.calls} calls are`);

  const charges = usage.filter((row) => row.charged > 0n);
  const wholeIds = new Set(evidence.calls.flatMap((call) => (call.end === "whole" ? call.id : [])));
  const totals: Totals = {
    chargedCalls: charges.length,
    chargedMicroVnd: charges.reduce((sum, row) => sum + row.charged, 0n),
    writtenOffMicroVnd: usage.reduce((sum, row) => sum + row.written_off, 0n),
    writtenOffCalls: usage.filter((row) => row.written_off > 0n).length,
    chargedCutCalls: charges.filter((row) => !wholeIds.has(row.call_id)).length,
    ledgerRows: ledger.length,
  };
  return { violations, totals };
}

type Report = (rule: string, what: string, callId?: string) => void;

function checkCalls({ calls, rich }: Evidence, usage: readonly UsageRow[], report: Report): void {
  const byId = new Map<string, UsageRow>();
  const byName = new Map<string, UsageRow>();
  for (const row of usage) {
    if (byId.has(row.call_id)) report("each call has one record", "two of it", row.call_id);
    byId.set(row.call_id, row);
    if (row.mapped_from === null) continue;
    if (byName.has(row.mapped_from)) {
      report("each call has one record", `two of ${row.mapped_from}`, row.call_id);
    }
    byName.set(row.mapped_from, row);
  }
  const claimed = new Set<UsageRow>();
  const nameless: ClientCall[] = [];
  for (const call of calls) {
    const row = byId.get(call.id ?? "") ?? byName.get(call.plan.name);
    if (row) {
      claimed.add(row);
      checkCall(call, row, rich.has(call.accountId), report);
    } else if (call.end === "whole") {
      report("a whole reply is charged", "it is in no record", call.id);
    } else if (call.id === undefined) nameless.push(call);
  }
  // The other records belong to calls whose client got no id. Each must match one of them.
  for (const row of usage) {
    if (claimed.has(row)) continue;
    const at = nameless.findIndex(
      (call) =>
        call.accountId === row.account_id &&
        call.plan.name === row.model &&
        row.charged <= most(call, call.plan.outputTokens, row.estimated),
    );
    if (at < 0) report("every record is of a call", JSON.stringify(shown(row)), row.call_id);
    else nameless.splice(at, 1);
  }
}

function checkCall(call: ClientCall, row: UsageRow, isRich: boolean, report: Report): void {
  const { plan, end, seenTokens } = call;
  const problem = (rule: string) =>
    report(
      rule,
      JSON.stringify({ call: { ...call, plan: brief(call) }, row: shown(row) }),
      row.call_id,
    );
  if (row.account_id !== call.accountId) problem("a call is charged to its own wallet");
  if (end === "whole") {
    const output = BigInt(seenTokens);
    const cost = (BigInt(plan.inputTokens) + output) * plan.microVndPerToken;
    if (row.charged + row.written_off !== cost) problem("a whole reply is charged exactly");
    if (row.output_tokens !== output || row.input_tokens !== BigInt(plan.inputTokens)) {
      problem("a whole reply is recorded as it came");
    }
    if (isRich && seenTokens !== plan.outputTokens)
      problem("an affordable call gets its whole reply");
    if (isRich && row.written_off > 0n) problem("an affordable call is charged in full");
    return;
  }
  if (end === "refused" && row.charged > 0n) return problem("a refused call costs nothing");
  if (row.charged > most(call, deliveredAtMost(call, row.outcome), row.estimated)) {
    problem("a cut call costs at most what was delivered");
  }
}

/**
 * The most output that may have been sent to a client without a whole reply. An unstreamed reply is
 * sent whole or not at all, and a slow reader has not read all it was sent.
 */
function deliveredAtMost({ plan, end, seenTokens }: ClientCall, outcome: string): number {
  if (!plan.streamed || plan.reader === "slow") return plan.outputTokens;
  // The whole reply was sent before the client left.
  if (end === "left" && outcome === "complete") return plan.outputTokens;
  return Math.min(plan.outputTokens, seenTokens + UNREAD_TOKENS);
}

function most({ plan }: ClientCall, outputTokens: number, isEstimated: boolean): bigint {
  const input = isEstimated ? INPUT_TOKENS_ESTIMATED_MAX : plan.inputTokens;
  return BigInt(input + outputTokens) * plan.microVndPerToken;
}

function checkLedger(
  { startMicroVnd }: Evidence,
  usage: readonly UsageRow[],
  ledger: readonly LedgerRow[],
  wallets: readonly { account_id: string; balance: bigint }[],
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
  wallets: readonly { account_id: string; balance: bigint }[],
  report: Report,
): void {
  for (const part of belowZero) report("no wallet is below zero in redis", part);
  for (const hold of redisState.holds) report("no hold is left", hold);
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

function shown(row: UsageRow) {
  const text = (value: bigint) => value.toString();
  return {
    ...row,
    charged: text(row.charged),
    written_off: text(row.written_off),
    input_tokens: text(row.input_tokens),
    output_tokens: text(row.output_tokens),
    cache_read_tokens: undefined,
    cache_write_tokens: undefined,
    reasoning_tokens: undefined,
  };
}

function brief({ plan: { body: _, microVndPerToken, ...plan } }: ClientCall) {
  return { ...plan, microVndPerToken: microVndPerToken.toString() };
}
