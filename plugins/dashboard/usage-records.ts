import type { Parameter } from "../../core/ledger/client.ts";
import type { Database } from "../../core/ledger/database.ts";
import { formatVnd } from "../../core/money.ts";
import type { Cursor, UsageFilter } from "./usage-input.ts";

/** One call as its customer sees it: everything but which provider served it. */
export interface CallRecord {
  readonly callId: string;
  readonly at: Date;
  readonly endpoint: string;
  readonly model: string;
  readonly mappedFrom: string | null;
  readonly keyId: string;
  readonly keyName: string | null;
  readonly status: number;
  readonly outcome: string;
  readonly streamed: boolean;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly images: number;
  readonly chargedMicroVnd: bigint;
  readonly writtenOffMicroVnd: bigint;
  readonly discountBps: number;
  readonly latencyMs: number;
  readonly firstByteMs: number | null;
  readonly estimated: boolean;
}

const SELECT = `
  select
    call_id as "callId", at, endpoint, model, mapped_from as "mappedFrom", key_id as "keyId",
    (select name from api_keys where id = key_id) as "keyName", record.status, outcome, streamed,
    input_tokens::float8 as "inputTokens", cache_read_tokens::float8 as "cacheReadTokens",
    cache_write_tokens::float8 as "cacheWriteTokens", output_tokens::float8 as "outputTokens",
    reasoning_tokens::float8 as "reasoningTokens", images, charged as "chargedMicroVnd",
    written_off as "writtenOffMicroVnd", discount_bps as "discountBps", latency_ms as "latencyMs",
    first_byte_ms as "firstByteMs", estimated
  from usage_records record
  where record.account_id = $1`;

/** A statement and its parameters. */
export interface Statement {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** The newest calls of an account that pass the filter, older than the cursor, newest first. */
export function pageStatement(
  accountId: string,
  filter: UsageFilter,
  limit: number,
  before?: Cursor | undefined,
): Statement {
  const parameters: Parameter[] = [accountId];
  const conditions: string[] = [];
  const must = (condition: string, ...values: Parameter[]) => {
    // Each ? takes the next value.
    conditions.push(condition.replaceAll("?", () => `$${parameters.push(values.shift() ?? null)}`));
  };
  if (filter.from) must("at >= ?", filter.from);
  if (filter.to) must("at < ?", filter.to);
  if (filter.model !== undefined) must("model = ?", filter.model);
  if (filter.key !== undefined) must("key_id = ?", filter.key);
  if (filter.status === "ok") must("record.status = 200");
  else if (filter.status === "failed") must("record.status <> 200");
  else if (filter.status !== undefined) must("record.status = ?", filter.status);
  // The first of the two lets the planner leave out the partitions of later months.
  if (before) must("at <= ? and (at, call_id) < (?, ?)", before.at, before.at, before.callId);
  const text = [
    [SELECT, ...conditions].join("\n    and "),
    `order by at desc, call_id desc limit $${parameters.push(limit)}`,
  ].join("\n  ");
  return { text, parameters };
}

/** One page of calls: see `pageStatement`. */
export function callPage(
  database: Database,
  ...page: Parameters<typeof pageStatement>
): Promise<CallRecord[]> {
  const { text, parameters } = pageStatement(...page);
  return database.query<CallRecord>(text, parameters);
}

/** A call's id holds the millisecond in which it was made, and its record the one in which the call began. */
const CLOCK_SLACK_MS = 60_000;

/** One call of an account; undefined where it has none of that id, or not yet. */
export async function callById(
  database: Database,
  accountId: string,
  callId: string,
): Promise<CallRecord | undefined> {
  const madeAt = Number.parseInt(callId.replace("-", "").slice(0, 12), 16);
  // Later than any call, and a time that the database does not know.
  if (madeAt > Date.UTC(2200, 0)) return undefined;
  const [record] = await database.query<CallRecord>(
    `${SELECT} and call_id = $2 and at between $3 and $4`,
    [accountId, callId, new Date(madeAt - CLOCK_SLACK_MS), new Date(madeAt + CLOCK_SLACK_MS)],
  );
  return record;
}

/** A call as the API answers it. */
export function recordJson(record: CallRecord): object {
  return {
    call_id: record.callId,
    at: record.at.toISOString(),
    endpoint: record.endpoint,
    model: record.model,
    mapped_from: record.mappedFrom,
    key_id: record.keyId,
    key_name: record.keyName,
    status: record.status,
    outcome: record.outcome,
    streamed: record.streamed,
    input_tokens: record.inputTokens,
    cache_read_tokens: record.cacheReadTokens,
    cache_write_tokens: record.cacheWriteTokens,
    output_tokens: record.outputTokens,
    reasoning_tokens: record.reasoningTokens,
    images: record.images,
    cost_vnd: formatVnd(record.chargedMicroVnd),
    written_off_vnd: formatVnd(record.writtenOffMicroVnd),
    discount_bps: record.discountBps,
    latency_ms: record.latencyMs,
    first_byte_ms: record.firstByteMs,
    estimated: record.estimated,
  };
}
