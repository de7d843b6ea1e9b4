import { keyLimits, type Services } from "../../core/plugin/index.ts";

type Account = Awaited<ReturnType<Services["accounts"]["search"]>>[number];

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

/** Returns the keys of an account as JSON for operators, without their secrets. */
export async function keyBodies(services: Services, accountId: string): Promise<object[]> {
  const keys = await services.accounts.keys(accountId);
  return Promise.all(keys.map((key) => keyBody(services, key)));
}

/** Returns a key as JSON for operators, without its secret. */
export async function keyBody(services: Services, key: AccountKey): Promise<object> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    status: key.status,
    requests_per_minute: key.requestsPerMinute,
    ...(await keyLimits.shown(services, key)),
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}
