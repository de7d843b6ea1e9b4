import type { AccountContext } from "./account-context.ts";

export async function activeKeys(context: AccountContext, accountId: string) {
  const keys = await context.services.accounts.latestKeys(accountId, 0);
  return keys.filter(({ status }) => status === "active");
}

/** Revokes every key of an account. Returns how many. */
export async function revokeAll(context: AccountContext, accountId: string): Promise<number> {
  const active = await activeKeys(context, accountId);
  for (const { id } of active) await context.services.keys.revoke(id);
  return active.length;
}
