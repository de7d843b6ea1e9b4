import type { Accounts, Log } from "../../../core/contract/index.ts";
import type { Sealer } from "./sealer.ts";

/**
 * Seals every key anew that an older master key sealed, so that the older one can be taken out of the config.
 * Any number of processes may do so at once: what another has sealed meanwhile stays. Meanwhile every key can
 * be opened, so nobody waits for it. Never rejects: what it leaves, the next start does.
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
    log.error({ err: error }, "keys could not be sealed by the newest master key");
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
      const secret = sealer.open(record);
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
    log.info({ keys: sealed, master_key: newest }, "sealed keys by the newest master key");
  if (lost > 0) log.warn({ keys: lost }, "keys are sealed by master keys that are not there");
}
