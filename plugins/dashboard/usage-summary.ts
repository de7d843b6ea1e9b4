import { type Database, formatVnd, type Parameter } from "../../core/contract/index.ts";
import { type Dimension, dayOf, type UsageFilter } from "./usage-input.ts";

const COLUMNS: Record<Dimension, string> = {
  day: "day::text as day",
  model: "model",
  key: "key_id as key",
};
const GROUPS: Record<Dimension, string> = { day: "day", model: "model", key: "key_id" };
/** Ten years of days, or a year of days for each of thirty models. */
const ROWS_MAX = 12_000;

interface Sum {
  readonly day?: string;
  readonly model?: string;
  readonly key?: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedMicroVnd: bigint;
}

/**
 * Calls, tokens and cost of an account, summed up by day (in Vietnam), model, key or several of them. Read from
 * the sums that settlement keeps, so a year takes no longer than its days. A period counts by whole days.
 */
export async function usageSummary(
  database: Database,
  accountId: string,
  by: readonly Dimension[],
  { from, to, model, key }: UsageFilter,
): Promise<object[]> {
  const parameters: Parameter[] = [accountId];
  const conditions = ["account_id = $1"];
  const must = (condition: string, value: Parameter) =>
    conditions.push(`${condition} $${parameters.push(value)}`);
  if (from) must("day >=", dayOf(from));
  if (to) must("day <=", dayOf(new Date(to.getTime() - 1)));
  if (model !== undefined) must("model =", model);
  if (key !== undefined) must("key_id =", key);
  const groups = by.map((dimension) => GROUPS[dimension]).join(", ");
  const sums = await database.query<Sum>(
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
  return sums.map(({ day, model, key, ...sum }) => ({
    ...(day !== undefined && { day }),
    ...(model !== undefined && { model }),
    ...(key !== undefined && { key }),
    calls: sum.calls,
    input_tokens: sum.inputTokens,
    output_tokens: sum.outputTokens,
    cost_vnd: formatVnd(sum.chargedMicroVnd),
  }));
}
