import type { Database } from "../../database/database.ts";
import type { TopUpQuery, TopUpSums } from "../ledger.ts";

const NONE: TopUpSums = { totalMicroVnd: 0n, periodMicroVnd: 0n };

/** Sums the top-ups of an account, by an index that leaves out charges. Movements are in the partition without call ids. */
export async function topUps(
  database: Pick<Database, "query">,
  { accountId, from, to, referencePrefix }: TopUpQuery,
): Promise<TopUpSums> {
  // `left` instead of `like`, and `coalesce`, keep the planner from the index on references of all accounts.
  const [sums] = await database.query<TopUpSums>(
    `select coalesce(sum(amount), 0)::bigint as "totalMicroVnd",
      coalesce(sum(amount) filter (where at >= $2 and at < $3), 0)::bigint as "periodMicroVnd"
    from ledger_entries
    where account_id = $1 and kind = 'topup' and call_id is null
      and left(coalesce(reference, ''), length($4::text)) = $4::text`,
    [accountId, from, to, referencePrefix],
  );
  return sums ?? NONE;
}
