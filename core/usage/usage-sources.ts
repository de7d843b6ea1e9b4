import type { Database, Parameter } from "../database/database.ts";
import { dayOf, endOfDay, lastDayBefore, startOfDay } from "../process/vietnam-day.ts";
import type { UsageDimension, UsageFilter } from "./books.ts";
import { keysOfMember, SOUND } from "./usage-page-statement.ts";

export const GROUPS: Readonly<Record<UsageDimension, string>> = {
  day: "day",
  model: "model",
  key: "key_id",
};
const SUMS = ["calls", "input_tokens", "output_tokens", "charged"] as const;
const COLUMNS = ["day", "model", "key_id", ...SUMS].join(", ");

/** Returns true if the account has sums by key alone and by model alone too: see `0003-usage.sql`. */
export async function hasManyKeys(database: Database, accountId: string): Promise<boolean> {
  const find = "select from usage_of_many_keys where account_id = $1";
  return (await database.query(find, [accountId])).length > 0;
}

/** Failed calls that are read for one reply: 0.2 s. */
export const FAILED_CALLS_MAX = 50_000;

/**
 * Returns what to sum with a filter of statuses, and the `with` clause that it needs. Sums are of all statuses, and few
 * calls fail: these are read one by one, and calls with status 200 are all calls less these. `failed`: the failed
 * statuses that the filter asks for or excludes. Reads one more than `FAILED_CALLS_MAX`.
 */
export function sourceOfStatuses(
  by: readonly UsageDimension[],
  filter: UsageFilter,
  failed: readonly number[],
  ofManyKeys: boolean,
  given: (value: Parameter) => string,
): { readonly failedCalls: string; readonly source: string } {
  const { from, to, model, key, member, status } = filter;
  const conditions = [
    "account_id = $1",
    `status <> ${SOUND} and status = any (array[${failed.join(",")}]::smallint[])`,
    ...(from ? [`at >= ${given(startOfDay(dayOf(from)))}`] : []),
    ...(to ? [`at < ${given(endOfDay(lastDayBefore(to)))}`] : []),
    ...(model === undefined ? [] : [`model = ${given(model)}`]),
    ...(key === undefined ? [] : [`key_id = ${given(key)}`]),
    ...(member === undefined ? [] : [`key_id = any (${keysOfMember(given(member))})`]),
  ];
  const failedCalls = `failed_calls as materialized (
    select (at at time zone 'Asia/Ho_Chi_Minh')::date as day, model, key_id,
      1 as calls, input_tokens, output_tokens, charged
    from usage_records where ${conditions.join(" and ")} limit ${FAILED_CALLS_MAX + 1}
  )`;
  if (status !== "ok" && status !== SOUND) return { failedCalls, source: "failed_calls" };
  const groups = by.map((dimension) => GROUPS[dimension]).join(", ");
  const less = SUMS.map((sum) => `-${sum}`).join(", ");
  const source = `(
    select ${groups}, ${SUMS.join(", ")} from ${usageSource(by, filter, ofManyKeys, given)}
    union all select ${groups}, ${less} from failed_calls
  ) sound`;
  return { failedCalls, source };
}

/**
 * Returns the tables with the fewest rows for these sums, and their conditions. `given` adds a parameter and returns its
 * name; the account is `$1`.
 */
export function usageSource(
  by: readonly UsageDimension[],
  { from, to, model, key, member }: Omit<UsageFilter, "status">,
  ofManyKeys: boolean,
  given: (value: Parameter) => string,
): string {
  const first = from && dayOf(from);
  const last = to && lastDayBefore(to);
  const ofDays = [
    ...(first ? [`day >= ${given(first)}`] : []),
    ...(last ? [`day <= ${given(last)}`] : []),
  ];
  const ofModel = model === undefined ? [] : [`model = ${given(model)}`];
  const ofKey = [
    ...(key === undefined ? [] : [`key_id = ${given(key)}`]),
    ...(member === undefined ? [] : [`key_id = any (${keysOfMember(given(member))})`]),
  ];
  const all = [...ofDays, ...ofModel, ...ofKey];
  if (!ofManyKeys) return ofAccount("usage_daily", all);
  if (!by.includes("key") && ofKey.length === 0) return ofAccount("usage_daily_models", all);
  if (!by.includes("model") && model === undefined) return ofAccount("usage_daily_keys", all);
  const isOfOne = model !== undefined || ofKey.length > 0;
  if (!isOfOne) return ofAccount("usage_daily", ofDays);
  return `(${eachDayAndModel([...ofDays, ...ofModel], ofKey)}) used`;
}

function ofAccount(table: string, conditions: readonly string[]): string {
  return `${table} where ${["account_id = $1", ...conditions].join(" and ")}`;
}

/**
 * Returns the rows of one model or one key. `usage_daily` has the models of a day, then the keys of a model: with a model
 * or a key given, each day and model has its place in the index. `offset 0` keeps the planner from reading all of the
 * account instead.
 */
function eachDayAndModel(conditions: readonly string[], ofKey: readonly string[]): string {
  const place = ["account_id", "day", "model"].map((column) => `daily.${column} = place.${column}`);
  return `select ${COLUMNS} from
      (select account_id, day, model from ${ofAccount("usage_daily_models", conditions)}) place
      cross join lateral (
        select key_id, ${SUMS.join(", ")} from usage_daily daily
        where ${[...place, ...ofKey].join(" and ")} offset 0
      ) daily`;
}
