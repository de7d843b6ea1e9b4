import {
  type Database,
  fieldsIn,
  filledIn,
  type Parameter,
  type UsageRecord,
  usageColumns,
  usageJson,
} from "../../core/contract/index.ts";
import { type Cursor, dayOf, endOfDay, startOfDay, type UsageFilter } from "./usage-input.ts";

/** One call as its customer sees it: everything but which provider served it, and what the operator paid. */
export type CallRecord = Omit<UsageRecord, "accountId" | "upstream" | OperatorCost> & {
  readonly keyName: string | null;
};

type OperatorCost =
  | "operatorCostMicro"
  | "operatorCurrency"
  | "operatorRateMicroVnd"
  | "costsVersion";

const COLUMNS = `${usageColumns(fieldsIn("api"), "record")},
    (select name from api_keys where id = record.key_id) as "keyName"`;

/** A statement and its parameters. */
interface Statement {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** The newest calls of an account that pass the filter, older than the cursor, newest first. */
export async function callPage(
  database: Database,
  accountId: string,
  filter: UsageFilter,
  limit: number,
  before?: Cursor | undefined,
): Promise<CallRecord[]> {
  const narrowed = await narrow(database, accountId, filter);
  if (!narrowed) return [];
  const statuses = await statusesOf(database, filter);
  if (statuses.length === 0) return [];
  const { text, parameters } = pageStatement(accountId, narrowed, statuses, limit, before);
  return (await database.query<CallRecord>(text, parameters)).map(filledIn);
}

/**
 * `statuses`: one for each part of the page; undefined is the filter's own.
 *
 * By its statistics the planner often believes that the next matches are near, and reads all calls from the newest
 * on: half a million of them for a key that was busy last week. An order that begins with the filter's column, which
 * `any` keeps it from taking for a constant, leaves it the index of that filter only. Of several filters it knows
 * the rarest best.
 */
function pageStatement(
  accountId: string,
  filter: UsageFilter,
  statuses: readonly (number | undefined)[],
  limit: number,
  before?: Cursor | undefined,
): Statement {
  const parameters: Parameter[] = [accountId, limit];
  const given = (["model", "key", "status"] as const).filter((name) => filter[name] !== undefined);
  const leading = given.length === 0 ? "account" : given.length === 1 ? given[0] : undefined;
  const equal = (column: keyof typeof COLUMN_TYPES, value: string) => {
    const [name, type] = COLUMN_TYPES[column];
    return column === leading ? `${name} = any (array[${value}::${type}])` : `${name} = ${value}`;
  };
  const conditions = [equal("account", "$1")];
  const must = (condition: (value: string) => string, value: Parameter) =>
    conditions.push(condition(`$${parameters.push(value)}`));
  if (filter.from) must((from) => `at >= ${from}`, filter.from);
  if (filter.to) must((to) => `at < ${to}`, filter.to);
  if (filter.model !== undefined) must((model) => equal("model", model), filter.model);
  if (filter.key !== undefined) must((key) => equal("key", key), filter.key);
  if (before) {
    // By the first of the two the indexes are entered, and the partitions of later months left out.
    must((at) => `at <= ${at}`, before.at);
    const [at, callId] = [parameters.push(before.at), parameters.push(before.callId)];
    conditions.push(`(at, call_id) < ($${at}, $${callId})`);
  }
  const order = `${leading ? `${COLUMN_TYPES[leading][0]}, ` : ""}at desc, call_id desc`;
  const parts = statuses.map((status) => {
    const own = status === undefined ? [] : [equal("status", String(status))];
    return `select ${COLUMNS}
  from usage_records record
  where ${[...conditions, ...own].join(" and ")}
  order by ${order} limit $2`;
  });
  const [only = ""] = parts;
  if (parts.length === 1) return { text: only, parameters };
  const text = `select * from ((${parts.join(") union all (")})) page
  order by at desc, "callId" desc limit $2`;
  return { text, parameters };
}

const COLUMN_TYPES = {
  account: ["account_id", "uuid"],
  model: ["model", "text"],
  key: ["key_id", "uuid"],
  status: ["record.status", "smallint"],
} as const;

/** The statuses that a filter asks for; undefined stands for all of them. */
async function statusesOf(
  database: Database,
  { status }: UsageFilter,
): Promise<(number | undefined)[]> {
  if (status !== "failed") return [status === "ok" ? 200 : status];
  // Those of any account: there are few, and each takes one step of an index. To ask for "not 200" instead would
  // read call after call where nearly all of them are 200.
  const rows = await database.query<{ status: number }>(
    `with recursive seen (status) as (
      (select status from usage_records order by status limit 1)
      union all
      select (select status from usage_records where status > seen.status order by status limit 1)
      from seen where seen.status is not null
    )
    select status from seen where status <> 200`,
  );
  return rows.map((row) => row.status);
}

/**
 * A filter by model and key, with its period cut to the days on which the key has called the model; undefined where
 * there are none. Either index would find calls of the one and drop them for the other: a key for one model, asked
 * for another, would have all of its calls read.
 */
async function narrow(
  database: Database,
  accountId: string,
  filter: UsageFilter,
): Promise<UsageFilter | undefined> {
  const { model, key, from, to } = filter;
  if (model === undefined || key === undefined) return filter;
  const [days] = await database.query<{ first: string | null; last: string | null }>(
    `select min(day)::text as first, max(day)::text as last
    from usage_daily
    where account_id = $1 and model = $2 and key_id = $3 and day between $4 and $5`,
    [accountId, model, key, dayOf(from ?? FIRST_DAY), dayOf(to ?? LAST_DAY)],
  );
  if (!days?.first || !days.last) return undefined;
  const [start, end] = [startOfDay(days.first), endOfDay(days.last)];
  return { ...filter, from: from && from > start ? from : start, to: to && to < end ? to : end };
}

/** Before and after all calls. */
const FIRST_DAY = new Date(0);
const LAST_DAY = new Date(Date.UTC(2200, 0));

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
    `select ${COLUMNS}
    from usage_records record
    where account_id = $1 and call_id = $2 and at between $3 and $4`,
    [accountId, callId, new Date(madeAt - CLOCK_SLACK_MS), new Date(madeAt + CLOCK_SLACK_MS)],
  );
  return record && filledIn(record);
}

/** The JSON of a call in the API. */
export function recordJson(record: CallRecord): object {
  return { ...usageJson(record, "api"), key_name: record.keyName };
}
