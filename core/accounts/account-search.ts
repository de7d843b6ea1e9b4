import type { Database } from "../database/database.ts";
import { isId } from "../process/id.ts";
import { type Account, type AccountSearch, KEY_PREFIX, KEY_SHOWN_CHARACTERS } from "./account.ts";
import { SELECT_ACCOUNT } from "./account-rows.ts";

/**
 * Returns accounts, oldest first (ids sort by time). A query is the id of an account or a key, the beginning of a key
 * that exists, an e-mail address, or part of one. Only the last reads all accounts.
 */
export async function searchAccounts(
  database: Database,
  { query, after, limit }: AccountSearch,
): Promise<Account[]> {
  const text = query?.toLowerCase() ?? "";
  const parameters = [after ?? null, limit] as const;
  const page = (condition: string, ...values: readonly string[]) =>
    database.query<Account>(
      `${SELECT_ACCOUNT} account
      where ($1::uuid is null or id > $1) and ${condition}
      order by id limit $2`,
      [...parameters, ...values],
    );
  if (isId(text)) {
    return page(
      "id in (select $3::uuid union select account_id from api_keys where id = $3)",
      text,
    );
  }
  if (text.startsWith(KEY_PREFIX) && text.length > KEY_PREFIX.length) {
    const prefix = query?.slice(0, KEY_SHOWN_CHARACTERS) ?? "";
    const [known] = await database.query(
      // Ordered, so that no scan of the table seems quicker.
      `select from api_keys where prefix collate "C" between $1 and $1 || '~'
      order by prefix collate "C" limit 1`,
      [prefix],
    );
    // Otherwise it is an address that begins like a key.
    if (known) {
      return page(
        `id in (select account_id from api_keys where prefix collate "C" between $3 and $3 || '~')`,
        prefix,
      );
    }
  }
  if (text.includes("@")) {
    const named = await page("lower(email) = $3", text);
    if (named.length > 0) return named;
  }
  return text === "" ? page("true") : page("position($3 in lower(email)) > 0", text);
}
