import type { UsageRow } from "./books.ts";
import type { ClientCall } from "./call.ts";
import type { Evidence, Report } from "./evidence.ts";
import { allowanceOf } from "./losses.ts";

/** Tokens that may have been sent to a stream's client that left, and that it never read. */
const UNREAD_TOKENS = 128;
/** The gateway's estimate for the longest of these prompts, if the provider reports no usage. */
const INPUT_TOKENS_ESTIMATED_MAX = 60;

/**
 * Compares every call with its record, and every record with a call. Returns how many whole replies
 * the double failures lost, by name.
 */
export function checkCalls(
  { calls, rich, allowances }: Evidence,
  usage: readonly UsageRow[],
  report: Report,
): Map<string, number> {
  const lost = new Map<string, number>();
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
      const failure = allowanceOf(call, allowances)?.name;
      if (failure) lost.set(failure, (lost.get(failure) ?? 0) + 1);
      else report("a whole reply is charged", "it is in no record", call.id);
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
    if (at < 0) report("every record is of a call", shown(row), row.call_id);
    else nameless.splice(at, 1);
  }
  return lost;
}

function checkCall(call: ClientCall, row: UsageRow, isRich: boolean, report: Report): void {
  const { plan, end, seenTokens } = call;
  const problem = (rule: string) =>
    report(
      rule,
      shown({ call: { ...call, plan: { ...plan, body: undefined } }, row }),
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
  if (row.charged > most(call, deliveredAtMost(call, row), row.estimated)) {
    problem("a cut call costs at most what was delivered");
  }
}

/**
 * Returns the maximum output that may have been sent to a client without a whole reply. An
 * unstreamed reply is sent whole or not at all, and a slow reader has not read all it was sent.
 */
function deliveredAtMost(call: ClientCall, { outcome, estimated }: UsageRow): number {
  const { plan, end, seenTokens } = call;
  if (!plan.streamed || plan.reader === "slow" || call.stalled) return plan.outputTokens;
  // The gateway reads on for a while after its client left: for the end of the reply, or for the provider's report,
  // after which a connection may still break.
  if (end === "left" && (outcome === "left" || outcome === "complete" || !estimated))
    return plan.outputTokens;
  return Math.min(plan.outputTokens, seenTokens + UNREAD_TOKENS);
}

function most({ plan }: ClientCall, outputTokens: number, isEstimated: boolean): bigint {
  const input = isEstimated ? INPUT_TOKENS_ESTIMATED_MAX : plan.inputTokens;
  return BigInt(input + outputTokens) * plan.microVndPerToken;
}

/** Rows have amounts as BigInt, which JSON does not know. */
function shown(what: object): string {
  return JSON.stringify(what, (_, value) => (typeof value === "bigint" ? `${value}` : value));
}
