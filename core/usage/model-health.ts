import type { Database } from "../database/database.ts";
import type { ModelHealth } from "./books.ts";

/** The newest calls of all accounts that are read: 20 ms. */
const CALLS_MAX = 10_000;

/** Returns how the newest calls since a time ended, by model. */
export function modelHealth(
  database: Pick<Database, "query">,
  since: Date,
): Promise<ModelHealth[]> {
  return database.query<ModelHealth>(
    `select model, count(*)::float8 as calls,
      (count(*) filter (where status >= 500 or outcome = 'broken'))::float8 as failed
    from (
      select model, status, outcome from usage_records
      where at >= $1 order by at desc limit ${CALLS_MAX}
    ) newest
    group by model`,
    [since],
  );
}
