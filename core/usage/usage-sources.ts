import type { Parameter } from "../database/database.ts";
import { dayOf, endOfDay, lastDayBefore, startOfDay } from "../process/vietnam-day.ts";
import type { UsageDimension, UsageFilter } from "./books.ts";
import { keysOfMember, SOUND } from "./usage-page-statement.ts";

export const GROUPS: Readonly<Record<UsageDimension, string>> = {
  day: "day",
  model: "model",
  key: "key_id",
};
const SUMS = ["calls", "input_tokens", "output_tokens", "charged"] as const;

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
    select ${groups}, ${SUMS.join(", ")} from ${usageSource(filter, given)}
    union all select ${groups}, ${less} from failed_calls
  ) sound`;
  return { failedCalls, source };
}

/** Returns the table of sums, with conditions. `given` adds a parameter and returns its name; the account is `$1`. */
export function usageSource(
  { from, to, model, key, member }: Omit<UsageFilter, "status">,
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
  const all = ["account_id = $1", ...ofDays, ...ofModel, ...ofKey];
  return `usage_daily where ${all.join(" and ")}`;
}
