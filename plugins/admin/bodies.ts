import { type Account, keyLimits, type Services } from "../../core/plugin/index.ts";

type AccountKey = Awaited<ReturnType<Services["accounts"]["keys"]>>[number];

/** Returns an account as JSON for operators. */
export function accountBody(account: Account): object {
  return {
    id: account.id,
    email: account.email,
    status: account.status,
    discount_bps: account.discountBps,
    created_at: account.createdAt.toISOString(),
  };
}

/** Returns a key as JSON for operators, without its secret. */
export function keyBody(key: AccountKey): object {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    status: key.status,
    requests_per_minute: key.requestsPerMinute,
    ...keyLimits.shown(key),
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
