import type { AccountContext } from "./account-context.ts";

/** Returns the keys that a person can call with: of the account, and as a member of others' teams. */
export async function activeKeys({ services }: AccountContext, accountId: string) {
  const { accounts, teamMembers } = services;
  const own = await accounts.latestKeys(accountId, 0);
  const ofTeams = (await teamMembers.current?.keysOf(accountId)) ?? [];
  return [...own, ...ofTeams].filter(({ status }) => status === "active");
}

/**
 * Revokes every key that a person can call with, each even if another fails. Returns how many. Rejects if the ledger still
 * has one of them as active. A hold store that fails gets the revocation once it is back; until then other gateways may
 * accept the key for 30 s.
 */
export async function revokeAll(context: AccountContext, accountId: string): Promise<number> {
  const { keys, log } = context.services;
  const active = await activeKeys(context, accountId);
  try {
    await keys.revokeAll(active.map(({ id }) => id));
  } catch (error) {
    if ((await activeKeys(context, accountId)).length > 0) throw error;
    log.error(
      { err: error, account_id: accountId },
      "cannot write revoked keys to the hold store; it is tried again",
    );
  }
  return active.length;
}
