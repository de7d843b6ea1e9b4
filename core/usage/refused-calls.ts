import type { Database, Parameter } from "../database/database.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import type { Clock } from "../process/clock.ts";
import type { Log } from "../process/log.ts";
import { PeriodicTask } from "../process/periodic.ts";
import { ThrottledLog } from "../process/throttled-log.ts";
import { withTimeout } from "../process/timeout.ts";
import { dayOf, lastDayBefore } from "../process/vietnam-day.ts";
import type { Refusal } from "../wire/refusal.ts";
import type { RefusedCall, RefusedCalls, RefusedCount, UsageFilter } from "./books.ts";
import { keysOfMember } from "./usage-page-statement.ts";

const BATCH_ACCOUNTS = 200;
/** Maximum number of accounts that wait to be written, while the ledger is down for example. */
const ACCOUNTS_MAX = 10_000;
/** Maximum number of counts of one account between two writes; beyond it the cause is `other`. */
const COUNTS_MAX = 100;
const KEPT_DAYS = 400;
const MS_PER_DAY = 86_400_000;

const OTHER = "other";

interface Waiting {
  readonly counts: Map<string, { -readonly [Name in keyof RefusedCount]: RefusedCount[Name] }>;
  /** The last refused calls, oldest first. */
  readonly last: RefusedCall[];
}

/** The fields of an ended call that say if, why and for whom it was refused. */
interface EndedCall {
  readonly id: string;
  readonly at: number;
  readonly attempts: number;
  readonly status: number;
  readonly refusal: Refusal | undefined;
  readonly key: CallersKey | undefined;
  /** A key that is revoked, or of a suspended account. */
  readonly refusedKey: CallersKey | undefined;
  readonly endpoint: { readonly path: string };
  readonly model: { readonly id: string } | undefined;
}

interface CallersKey {
  readonly id: string;
  readonly accountId: string;
}

interface RefusedCallsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Counts the calls that the gateway refuses itself: in memory, and every second in one statement. Its memory is bounded
 * by accounts, days, keys, statuses and causes, however many calls a client makes. Only calls with a key of an account
 * count, so a stranger adds nothing.
 */
export class RefusedCallsCounter {
  private readonly log: ThrottledLog;
  private readonly task: PeriodicTask;
  private waiting = new Map<string, Waiting>();
  private droppedDay = "";

  constructor(private readonly options: RefusedCallsOptions) {
    this.log = new ThrottledLog(options.log);
    this.task = new PeriodicTask(async () => {
      await this.write();
      return LIFETIMES.refusedWriteMs;
    });
  }

  start(): void {
    this.task.start();
  }

  /** Writes the counts that wait, and stops. If the ledger does not reply in time, the counts are lost. */
  async stop(): Promise<void> {
    await withTimeout(
      this.task.stop().then(() => this.write()),
      LIFETIMES.refusedStopMs,
    );
  }

  /** Counts a call if the gateway refused it before it tried an upstream. */
  count(call: EndedCall): void {
    const { refusal } = call;
    const key = call.key ?? call.refusedKey;
    if (!refusal || !key || call.attempts > 0) return;
    const { id: callId, status } = call;
    const at = new Date(call.at);
    const count = { day: dayOf(at), keyId: key.id, status, cause: causeOf(refusal) };
    const { path: endpoint } = call.endpoint;
    const model = call.model?.id ?? null;
    const last = { callId, at, keyId: key.id, endpoint, model, status, cause: count.cause };
    this.add(key.accountId, [{ ...count, calls: 1, lastAt: at }], [last]);
  }

  private add(
    accountId: string,
    counts: Iterable<RefusedCount>,
    last: readonly RefusedCall[],
  ): void {
    const waiting = this.waitingOf(accountId);
    if (!waiting) return;
    for (const count of counts) {
      const { day, keyId, status, cause, calls, lastAt } = count;
      let name = `${day} ${keyId} ${status} ${cause}`;
      const isOther = waiting.counts.size >= COUNTS_MAX && !waiting.counts.has(name);
      if (isOther) name = `${day} ${status}`;
      const known = waiting.counts.get(name);
      if (known) {
        known.calls += calls;
        if (lastAt > known.lastAt) known.lastAt = lastAt;
      } else waiting.counts.set(name, isOther ? { ...count, cause: OTHER } : { ...count });
    }
    // Pages sort them by their times.
    waiting.last.push(...last);
    waiting.last.splice(0, waiting.last.length - LAST_REFUSED_CALLS);
  }

  private waitingOf(accountId: string): Waiting | undefined {
    let waiting = this.waiting.get(accountId);
    if (waiting || this.waiting.size >= ACCOUNTS_MAX) return waiting;
    waiting = { counts: new Map(), last: [] };
    this.waiting.set(accountId, waiting);
    return waiting;
  }

  private async write(): Promise<void> {
    try {
      while (this.waiting.size > 0) await this.writeBatch();
    } catch (error) {
      this.log.warn({ err: error }, "cannot record refused calls; trying again");
    }
    try {
      await this.dropOld();
    } catch (error) {
      this.log.warn({ err: error }, "cannot delete old counts of refused calls; trying tomorrow");
    }
  }

  private async writeBatch(): Promise<void> {
    const accounts = [...this.waiting].slice(0, BATCH_ACCOUNTS);
    for (const [accountId] of accounts) this.waiting.delete(accountId);
    try {
      await addRefusedCalls(this.options.database, accounts.map(batchOf));
    } catch (error) {
      for (const [id, { counts, last }] of accounts) this.add(id, counts.values(), last);
      throw error;
    }
  }

  /** Deletes old counts, at most once a day: after a delete that was too slow, a retry would be as slow. */
  private async dropOld(): Promise<void> {
    const now = this.options.clock.now();
    const today = dayOf(new Date(now));
    if (today === this.droppedDay) return;
    this.droppedDay = today;
    await dropRefusedCalls(this.options.database, new Date(now - KEPT_DAYS * MS_PER_DAY));
  }
}

function batchOf([accountId, { counts, last }]: readonly [string, Waiting]): RefusedBatch {
  return { accountId, counts: [...counts.values()], last: last.toReversed() };
}

/** Fields of requests that a cause may name. A list, so that no client can make up causes. */
const FIELDS: ReadonlySet<string> = new Set([
  ...["model", "stream", "stream_options", "metadata", "user", "seed", "store", "background"],
  ...["messages", "system", "input", "instructions", "prompt", "conversation", "container"],
  ...["previous_response_id", "context_management", "include", "truncation", "anthropic-beta"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "stop"],
  ...["stop_sequences", "temperature", "top_p", "top_k", "logprobs", "logit_bias"],
  ...["tools", "tool_choice", "functions", "function_call", "mcp_servers", "web_search_options"],
  ...["thinking", "reasoning", "reasoning_effort", "response_format", "text", "output_config"],
  ...["modalities", "audio", "service_tier", "speed", "plugins", "models", "fallbacks"],
  ...["image", "images", "image_url", "reference_image", "ref_image", "mask", "size", "quality"],
  ...["style", "output_format", "input_fidelity", "voice"],
]);
const CAUSE_CHARACTERS_MAX = 40;

/** The code of the error, else the field at fault, else the type. Never the message, which may quote the request. */
function causeOf({ code, param, type }: Refusal): string {
  if (code !== null && code !== "") return code.slice(0, CAUSE_CHARACTERS_MAX);
  const field = param?.match(/^[^.[]+/)?.[0];
  return field !== undefined && FIELDS.has(field) ? field : type;
}

const LAST_REFUSED_CALLS = 20;
const COUNTS_SHOWN_MAX = 1_000;

/** Counts of one account, and its last refused calls, newest first. */
interface RefusedBatch {
  readonly accountId: string;
  readonly counts: readonly RefusedCount[];
  readonly last: readonly RefusedCall[];
}

/** Adds counts of refused calls. If the reply of the database is lost, a repetition counts them twice. */
export async function addRefusedCalls(
  database: Database,
  batches: readonly RefusedBatch[],
): Promise<void> {
  const counts = batches.flatMap(({ accountId, counts }) =>
    counts.map((count) => ({ accountId, ...count })),
  );
  const last = batches.map(({ accountId, last }) => ({ accountId, calls: last }));
  // Always in the same order, so that two processes never wait for each other.
  await database.query(
    `with counted as (
      insert into refused_calls as total (account_id, day, key_id, status, cause, calls, last_at)
      select * from jsonb_to_recordset($1::text::jsonb) as new (
        "accountId" uuid, day date, "keyId" uuid, status smallint, cause text, calls bigint, "lastAt" timestamptz
      )
      order by "accountId", day, "keyId", status, cause
      on conflict (account_id, day, key_id, status, cause) do update set
        calls = total.calls + excluded.calls,
        last_at = greatest(total.last_at, excluded.last_at)
    )
    insert into last_refused_calls as kept (account_id, calls)
    select * from jsonb_to_recordset($2::text::jsonb) as new ("accountId" uuid, calls jsonb)
    order by "accountId"
    on conflict (account_id) do update set
      calls = jsonb_path_query_array(excluded.calls || kept.calls, '$[0 to ${LAST_REFUSED_CALLS - 1}]')`,
    [JSON.stringify(counts), JSON.stringify(last)],
  );
}

/** Deletes counts of days before this one. */
export async function dropRefusedCalls(database: Database, before: Date): Promise<void> {
  await database.query("delete from refused_calls where day < $1", [dayOf(before)]);
}

/** Returns the refused calls of an account that pass the filter, which applies to whole days. */
export async function refusedCalls(
  database: Database,
  accountId: string,
  filter: UsageFilter,
): Promise<RefusedCalls> {
  if (filter.status === "ok" || filter.status === 200) return { counts: [], last: [] };
  // They are not counted by model: callers could make up any number of names.
  const counts = filter.model === undefined ? await countsOf(database, accountId, filter) : [];
  const [kept] = await database.query<{ calls: StoredCall[] }>(
    "select calls from last_refused_calls where account_id = $1",
    [accountId],
  );
  const keys = filter.member === undefined ? undefined : await keysOf(database, filter.member);
  const last = (kept?.calls ?? [])
    .filter(({ keyId }) => keys?.has(keyId) ?? true)
    .map((call) => ({ ...call, at: new Date(call.at) }))
    .filter((call) => isWanted(call, filter))
    // Several processes add calls, so they are not in the order of their times.
    .sort((a, b) => b.at.getTime() - a.at.getTime());
  return { counts, last };
}

/**
 * Returns one of the last refused calls of any account; undefined if there is none of this id. Reads those of all accounts: at 10,000 of
 * them, 100 ms.
 */
export async function refusedCall(
  database: Database,
  callId: string,
): Promise<(RefusedCall & { readonly accountId: string }) | undefined> {
  const [found] = await database.query<{ accountId: string; call: StoredCall }>(
    `select account_id as "accountId", call from last_refused_calls, jsonb_array_elements(calls) call
    where calls @> jsonb_build_array(jsonb_build_object('callId', $1::text)) and call ->> 'callId' = $1`,
    [callId],
  );
  return found && { ...found.call, accountId: found.accountId, at: new Date(found.call.at) };
}

async function keysOf(database: Database, member: string): Promise<ReadonlySet<string>> {
  const find = "select id from api_keys where member_id = $1";
  const keys = await database.query<{ id: string }>(find, [member]);
  return new Set(keys.map(({ id }) => id));
}

function countsOf(
  database: Database,
  accountId: string,
  { from, to, key, member, status }: UsageFilter,
): Promise<RefusedCount[]> {
  const parameters: Parameter[] = [accountId];
  const conditions = ["account_id = $1"];
  const must = (condition: string, value: Parameter) =>
    conditions.push(`${condition} $${parameters.push(value)}`);
  if (from) must("day >=", dayOf(from));
  if (to) must("day <=", lastDayBefore(to));
  if (key !== undefined) must("key_id =", key);
  if (member !== undefined) {
    conditions.push(`key_id = any (${keysOfMember(`$${parameters.push(member)}`)})`);
  }
  if (typeof status === "number") must("status =", status);
  return database.query<RefusedCount>(
    `select day::text as day, key_id as "keyId", status, cause, calls::float8 as calls,
      last_at as "lastAt"
    from refused_calls where ${conditions.join(" and ")}
    order by day desc, last_at desc limit ${COUNTS_SHOWN_MAX}`,
    parameters,
  );
}

function isWanted(call: RefusedCall, { from, to, key, model, status }: UsageFilter): boolean {
  const day = dayOf(call.at);
  if ((from && day < dayOf(from)) || (to && day > lastDayBefore(to))) return false;
  if (key !== undefined && call.keyId !== key) return false;
  if (model !== undefined && call.model !== model) return false;
  return typeof status !== "number" || call.status === status;
}

type StoredCall = Omit<RefusedCall, "at"> & { readonly at: string };
