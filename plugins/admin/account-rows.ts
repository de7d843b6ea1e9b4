import { type Database, isId, KEY_PREFIX } from "../../core/contract/index.ts";

export interface AccountRow {
  readonly id: string;
  readonly email: string;
  readonly status: "active" | "suspended";
  readonly discount_bps: number;
  readonly created_at: Date;
}

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly status: "active" | "revoked";
  /** Null: as the config says. */
  readonly requests_per_minute: number | null;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
}

export interface AccountPage {
  readonly query?: string | undefined;
  /** The last account of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** As many characters of a key as are kept in the clear. */
const PREFIX_CHARACTERS = 10;

/**
 * Accounts, oldest first: ids are made in the order of time. With a query those that have it in their e-mail
 * address, or as their id, or as the id or the beginning of one of their keys.
 */
export function findAccounts(
  database: Database,
  { query, after, limit }: AccountPage,
): Promise<AccountRow[]> {
  const text = query?.toLowerCase() ?? "";
  const id = isId(text) ? text : null;
  const isKey = text.startsWith(KEY_PREFIX) && text.length > KEY_PREFIX.length;
  const prefix = isKey ? (query?.slice(0, PREFIX_CHARACTERS) ?? "") : "";
  return database.query(
    `select id, email, status, discount_bps, created_at from accounts account
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

/** Oldest first, revoked ones included. */
export function keysOf(database: Database, accountId: string): Promise<KeyRow[]> {
  return database.query(
    `select id, name, prefix, status, requests_per_minute, created_at, revoked_at
    from api_keys where account_id = $1 order by created_at, id`,
    [accountId],
  );
}
