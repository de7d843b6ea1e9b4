import type { Account, AccountKey } from "../../core/contract/index.ts";

/** An account as the operator's API shows it. */
export function accountBody(account: Account): object {
  return {
    id: account.id,
    email: account.email,
    status: account.status,
    discount_bps: account.discountBps,
    created_at: account.createdAt.toISOString(),
  };
}

/** A key as the operator's API shows it: without its text. */
export function keyBody(key: AccountKey): object {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    status: key.status,
    requests_per_minute: key.requestsPerMinute,
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
