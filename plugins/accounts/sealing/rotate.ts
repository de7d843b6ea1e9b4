import type { Accounts, Log } from "../../../core/contract/index.ts";
import type { Sealer } from "./sealer.ts";

/**
 * Seals every key again that an older master key sealed, so that the operator can remove the older one from the config.
 * Several processes may do this at once: a key that another process has already sealed again is skipped. Keys can be
 * unsealed throughout. Never rejects: the next start seals what is left.
 */
export async function rotate(
  accounts: Accounts,
  sealer: Sealer,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  const newest = sealer.newest;
  if (newest === undefined) return;
  try {
    await sealAll(accounts, sealer, newest, log, stop);
  } catch (error) {
    log.error(
      { err: error },
      "cannot seal keys with the newest master key; the next start tries again",
    );
  }
}

async function sealAll(
  accounts: Accounts,
  sealer: Sealer,
  newest: string,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  let sealed = 0;
  let lost = 0;
  let after: string | undefined;
  while (!stop.aborted) {
    const batch = await accounts.keysSealedByOthers(newest, after);
    for (const record of batch) {
      const secret = sealer.unseal(record);
      if (secret === undefined) {
        lost += 1;
        continue;
      }
      const { keyId, accountId, sealedBy } = record;
      const next = sealer.seal(keyId, accountId, secret);
      if (await accounts.resealKey(keyId, sealedBy, next)) sealed += 1;
    }
    const last = batch.at(-1);
    if (last === undefined) break;
    after = last.keyId;
  }
  if (sealed > 0)
    log.info({ keys: sealed, master_key: newest }, "sealed keys with the newest master key");
  if (lost > 0)
    log.warn(
      { keys: lost },
      "cannot unseal keys whose master key is not in the config; they cannot be shown",
    );
}
