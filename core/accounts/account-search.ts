import {
  type Account,
  type AccountSearch,
  KEY_PREFIX,
  KEY_SHOWN_CHARACTERS,
} from "../contract/accounts.ts";
import type { Database } from "../contract/database.ts";
import { isId } from "../process/id.ts";
import { SELECT_ACCOUNT } from "./account-rows.ts";

/**
 * Returns accounts, oldest first (ids sort by time). A query matches part of the e-mail address, the account id, a
 * key's id, or the beginning of a key.
 */
export function searchAccounts(
  database: Database,
  { query, after, limit }: AccountSearch,
): Promise<Account[]> {
  const text = query?.toLowerCase() ?? "";
  const id = isId(text) ? text : null;
  const isKey = text.startsWith(KEY_PREFIX) && text.length > KEY_PREFIX.length;
  const prefix = isKey ? (query?.slice(0, KEY_SHOWN_CHARACTERS) ?? "") : "";
  return database.query(
    `${SELECT_ACCOUNT} account
    where ($1::uuid is null or id > $1)
      and (
        position($2 in lower(email)) > 0
        or id = $3
        or exists (
          select from api_keys key
          where key.account_id = account.id
            and (key.id = $3 or ($4 <> '' and starts_with(key.prefix, $4)))
        )
      )
    order by id limit $5`,
    [after ?? null, text, id, prefix, limit],
  );
}
