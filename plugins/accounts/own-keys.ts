import type { AccountContext } from "./account-context.ts";

/** Returns the keys that a person can call with: of the account, and as a member of others' teams. */
export async function activeKeys({ services }: AccountContext, accountId: string) {
  const { accounts, teamMembers } = services;
  const own = await accounts.latestKeys(accountId, 0);
  const ofTeams = (await teamMembers.current?.keysOf(accountId)) ?? [];
  return [...own, ...ofTeams].filter(({ status }) => status === "active");
}

/** Revokes every key that a person can call with. Returns how many. */
export async function revokeAll(context: AccountContext, accountId: string): Promise<number> {
  const active = await activeKeys(context, accountId);
  for (const { id } of active) await context.services.keys.revoke(id);
  return active.length;
}
