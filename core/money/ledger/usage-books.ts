import type { Database } from "../../contract/database.ts";
import type { KeyUsage, UsageBooks } from "../../contract/usage-books.ts";

/** The usage records and their daily sums in Postgres. */
export function usageBooksOf(database: Database): UsageBooks {
  return {
    byKey(accountId, keyIds) {
      return database.query<KeyUsage>(
        `select key_id as "keyId", sum(charged)::bigint as "chargedMicroVnd",
          max(last_at) as "lastUsedAt"
        from usage_daily where account_id = $1 and key_id = any ($2::text::uuid[]) group by key_id`,
        [accountId, `{${keyIds.join(",")}}`],
      );
    },
  };
}
