import type { Database, Parameter } from "../../contract/database.ts";
import type {
  KeyUsage,
  UsageDimension,
  UsageFilter,
  UsageSum,
} from "../../contract/usage-books.ts";
import { dayOf } from "../../contract/vietnam-day.ts";

const COLUMNS: Record<UsageDimension, string> = {
  day: "day::text as day",
  model: "model",
  key: "key_id as key",
};
const GROUPS: Record<UsageDimension, string> = { day: "day", model: "model", key: "key_id" };
/** Enough for a year of days for each of 30 models. */
const ROWS_MAX = 12_000;

/**
 * Returns the sums of calls, tokens and charges of an account. Reads the daily sums that each commit updates, so the
 * time depends on the number of days, not of calls.
 */
export function usageSums(
  database: Pick<Database, "query">,
  accountId: string,
  by: readonly UsageDimension[],
  { from, to, model, key }: Omit<UsageFilter, "status">,
): Promise<UsageSum[]> {
  const parameters: Parameter[] = [accountId];
  const conditions = ["account_id = $1"];
  const must = (condition: string, value: Parameter) =>
    conditions.push(`${condition} $${parameters.push(value)}`);
  if (from) must("day >=", dayOf(from));
  if (to) must("day <=", dayOf(new Date(to.getTime() - 1)));
  if (model !== undefined) must("model =", model);
  if (key !== undefined) must("key_id =", key);
  const groups = by.map((dimension) => GROUPS[dimension]).join(", ");
  return database.query<UsageSum>(
    `select ${by.map((dimension) => COLUMNS[dimension]).join(", ")},
      sum(calls)::float8 as calls, sum(input_tokens)::float8 as "inputTokens",
      sum(output_tokens)::float8 as "outputTokens", sum(charged)::bigint as "chargedMicroVnd"
    from usage_daily
    where ${conditions.join(" and ")}
    group by ${groups}
    order by ${by.includes("day") ? groups : "sum(charged) desc, 1"}
    limit ${ROWS_MAX}`,
    parameters,
  );
}

/**
 * Returns the charges and last use of single keys, over all days. Sums the account's rows first, then joins the keys:
 * with the list as a condition Postgres scanned it for each row, which took 24 s for 68,000 rows and 113 keys.
 */
export function usageByKey(
  database: Pick<Database, "query">,
  accountId: string,
  keyIds: readonly string[],
): Promise<KeyUsage[]> {
  return database.query(
    `with used as materialized (
      select key_id as "keyId", sum(charged)::bigint as "chargedMicroVnd",
        max(last_at) as "lastUsedAt"
      from usage_daily where account_id = $1 group by key_id
    )
    select used.* from used join unnest($2::text::uuid[]) wanted (id) on wanted.id = "keyId"`,
    [accountId, `{${keyIds.join(",")}}`],
  );
}
