import type { Database } from "../../database/database.ts";
import type { TopUpQuery, TopUpSums } from "../ledger.ts";
import { TAKEN_BACK_REFERENCE } from "./corrections.ts";

const NONE: TopUpSums = { totalMicroVnd: 0n, periodMicroVnd: 0n };

/**
 * Sums the top-ups of an account, less what of each was taken back, which counts on the day of the top-up. Movements are in
 * the partition without call ids, so charges are not read.
 */
export async function topUps(
  database: Pick<Database, "query">,
  { accountId, from, to, referencePrefix }: TopUpQuery,
): Promise<TopUpSums> {
  // `left` instead of `like`, and `coalesce`, keep the planner from the index on references of all accounts.
  const beginning = (column: string, text: string) =>
    `left(coalesce(${column}, ''), length(${text})) = ${text}`;
  const [sums] = await database.query<TopUpSums>(
    `with top_ups as (
      select at, amount, reference from ledger_entries
      where account_id = $1 and kind = 'topup' and call_id is null and ${beginning("reference", "$4::text")}
    ), taken_back as (
      select substring(reference from '^${TAKEN_BACK_REFERENCE}\\d+:(.*)$') as reference, sum(amount) as amount
      from ledger_entries
      where account_id = $1 and kind = 'adjustment' and call_id is null
        and ${beginning("reference", `'${TAKEN_BACK_REFERENCE}'`)}
      group by 1
    )
    select coalesce(sum(left_over), 0)::bigint as "totalMicroVnd",
      coalesce(sum(left_over) filter (where at >= $2 and at < $3), 0)::bigint as "periodMicroVnd"
    from top_ups left join taken_back using (reference),
      lateral (select top_ups.amount + coalesce(taken_back.amount, 0)) rest (left_over)`,
    [accountId, from, to, referencePrefix],
  );
  return sums ?? NONE;
}
